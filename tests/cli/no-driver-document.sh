#!/usr/bin/env bash
# Without a driver programs still get a document, which says why, and exit status 6.
source "$(dirname "$0")/common.sh"

run 6 partita status -o json --library "$work/none.so" --host-root "$work"
silent err
shows '"driverError"' "$work/none.so"
python3 "$source_root/tests/cli/check_status_document.py" "$work/out"
run 6 partita status -o yaml --library "$work/none.so" --host-root "$work"
shows "driverError:" "gpus: []"
