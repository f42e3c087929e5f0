#!/usr/bin/env bash
# Slices are drawn where they are, with what still fits and who runs in them.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
on_node nvidia-smi -i 7 -mig 1 >/dev/null
on_node nvidia-smi -r -i 7 >/dev/null
on_node nvidia-smi mig -i 7 -cgi 9 -C >/dev/null

run 0 on_node partita mig show --gpu 7
shows "MIG on" "3g.20gb" "free" "room for 1× 4g.20gb or 1× 3g.20gb or 2× 2g.10gb"
run 0 on_node partita mig show --gpu 0
shows "MIG off"
run 0 on_node partita mig show -o json
shows '"kind": "MigState"' '"profile": "3g.20gb"' '"4g.20gb": 1'
on_node nvidia-smi -i 0 -mig 1 >/dev/null
run 0 on_node partita mig show --gpu 0
shows "MIG off, on after a GPU reset"
