#!/usr/bin/env bash
# Help is on standard output, at every level, and lists commands, options, examples, exit statuses.
source "$(dirname "$0")/common.sh"

run 0 partita --help
silent err
shows "Usage: partita" "status" "completion" "--output" "Examples:" "6  no driver answers"
cp "$work/out" "$work/help"
run 0 partita -h
cmp "$work/help" "$work/out" || fail "-h and --help differ"
run 0 partita help
cmp "$work/help" "$work/out" || fail "help and --help differ"

run 0 partita status --help
shows "Usage: partita status" "--gpu" "--watch" "--driver-root" "partita status -o json"
cp "$work/out" "$work/help"
run 0 partita help status
cmp "$work/help" "$work/out" || fail "help status and status --help differ"

# Without a command it says what is missing instead of doing something.
run 2 partita
silent out
