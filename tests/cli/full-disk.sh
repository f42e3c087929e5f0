#!/usr/bin/env bash
# Output that cannot be written is an error, not a success with half a document.
source "$(dirname "$0")/common.sh"

status=0
partita help >/dev/full 2>"$work/err" || status=$?
[ "$status" -eq 1 ] || fail "exit status $status, not 1"
complains "standard output"
