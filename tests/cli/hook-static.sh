#!/usr/bin/env bash
# The hook is static and small, and what is not is noticed.
source "$(dirname "$0")/common.sh"
run 0 "$source_root/scripts/check-hook" "$PARTITA_BIN/partita-hook"
shows "static"
run 1 "$source_root/scripts/check-hook" /bin/true
complains "has a loader"
