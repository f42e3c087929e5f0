#!/usr/bin/env bash
# A GPU that waits for a reset says so, and the command for it, with its own index; after the reset it
# does not.
. "$(dirname "$0")/common.sh"

up dgx-a100-40
run 0 partita-sim fault reset-required --node "$node" --gpu 3
run 0 partita-sim set --node "$node" --gpu 5 recovery-action=gpu-reset
run 0 on_node partita status -o json
shows "nvidia-smi -r -i 3" "nvidia-smi -r -i 5"
! grep -q "<index>" "$work/out" || fail "the advice has a gap in it"
run 0 on_node partita status
shows "reset required" "nvidia-smi -r"
run 0 on_node nvidia-smi -r -i 3
run 0 partita-sim unset --node "$node" --gpu 5 recovery-action
run 0 on_node partita status
! grep -q "reset required" "$work/out" || fail "the fault outlives the reset"

# A driver that answers so to everything, which leaves the address as the GPU's name.
partita-sim fault call '*' --fail RESET_REQUIRED --gpu 3 --node "$node" >/dev/null
run 0 on_node partita status -o json
shows "nvidia-smi -r -i 0000:4e:00.0"
! grep -q "<index>" "$work/out" || fail "the advice has a gap in it"
