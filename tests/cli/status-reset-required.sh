#!/usr/bin/env bash
# A GPU that waits for a reset says so, and what to do; after the reset it does not.
. "$(dirname "$0")/common.sh"

up h200-vm
run 0 partita-sim fault reset-required --node "$node" --gpu 0
run 0 on_node partita status
shows "reset required" "nvidia-smi -r"
run 0 on_node nvidia-smi -r -i 0
run 0 on_node partita status
! grep -q "reset required" "$work/out" || fail "the fault outlives the reset"
