#!/usr/bin/env bash
# A GPU off the bus is shown as lost, with what to do, and hides none of the others. Exit status 0.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
partita-sim fault lost --node "$node" --gpu 3
run 0 on_node partita status
shows "8 GPUs" "✗ 1 faulty" "✗ lost: " "reboot"
[ "$(grep -c '^   memory ' "$work/out")" -eq 7 ] || fail "the seven others are not all read"
run 0 on_node partita status -o json
shows '"kind": "lost"'
python3 "$source_root/tests/cli/check_status_document.py" "$work/out"
