#!/usr/bin/env bash
# Several nodes are up at once; each program sees its own, and a change of one leaves the other alone.
source "$(dirname "$0")/common.sh"

run 0 partita-sim list
shows "no simulated node is up"
run 0 partita-sim up mixed --node one
shows "node one is up: 3 GPUs, driver 580.159.04"
run 0 partita-sim up h200-vm --node two
run 0 partita-sim list
shows "one" "1 x T4, 1 x V100-SXM2-16GB, 1 x A100-SXM4-40GB" "two" "1 x H200"

run 2 partita-sim run -- true
complains "several nodes are up: one, two" "--node"
run 2 partita-sim show --node tow
complains 'no node "tow" is up' 'did you mean "two"?'

run 0 partita-sim run --node one -- nvidia-smi -L
[ "$(wc -l <"$work/out")" -eq 3 ] || fail "node one shows other than three GPUs"
run 0 env PARTITA_SIM_NODE=two partita-sim run -- nvidia-smi -L
shows "GPU 0: NVIDIA H200 (UUID: GPU-d64bec6d-47c0-9a0b-bb6c-36622f5541d1)"
[ "$(wc -l <"$work/out")" -eq 1 ] || fail "node two shows other than one GPU"

partita-sim clock freeze --node one >/dev/null
before=$(state one)
run 0 partita-sim set --node two --gpu 0 temperature=70
run 0 partita-sim fault lost --node two --gpu 0
[ "$(state one)" = "$before" ] || fail "a change of two changed one"
run 1 partita-sim up mixed --node one
complains 'node "one" is up already' "partita-sim down --node one"

run 0 partita-sim down --node one
run 0 partita-sim list
shows "two"
[ ! -e "$PARTITA_SIM_DIR/one" ] || fail "node one left files behind"
run 0 partita-sim fault clear --all # of the only one now
