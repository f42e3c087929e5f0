#!/usr/bin/env bash
# What the driver asks for (field 230) stands above the preset: an XID with which it asks for nothing leaves the GPU in
# use, and what it asks for is followed at once; below what the operator said of the code.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
echo "health: {xids: {62: reset}}" >>"$PARTITA_CONFIG_FILE"
start_agent it
await it READY=1

# Until events are waited for, nobody hears it.
until partita-sim fault xid 62 --gpu 4 --node "$node" && ! on_node partita health >"$work/seen"; do
  [ "$SECONDS" -lt 50 ] || fail "the XID was not heard"
done
run 0 partita-sim fault xid 46 --gpu 5 --node "$node"
until_logged it "xid=46"
until run 3 on_node partita health --width 400 && grep -q "XID 46" "$work/out" &&
  [ "$(grep -c " unhealthy " "$work/out")" -eq 1 ]; do
  [ "$SECONDS" -lt 60 ] || fail "XID 46 has not given way"
done
shows "XID 46, the GPU stopped processing, and the driver asks for nothing: watch whether it comes again" \
  "XID 62, the power controller halted: stop what runs there, then reset the GPU (nvidia-smi -r)"

run 0 partita-sim set recovery-action=gpu-reset --gpu 5 --node "$node"
run 0 partita-sim fault xid 154 --gpu 5 --node "$node"
until run 3 on_node partita health --width 400 && [ "$(grep -c " unhealthy " "$work/out")" -eq 2 ]; do
  [ "$SECONDS" -lt 60 ] || fail "the driver's wish was not followed"
done
shows "XID 46, the GPU stopped processing, and the driver asks for a reset: stop what runs there"
run 0 on_node nvidia-smi -r -i 5
until run 3 on_node partita health --width 400 && ! grep -q "XID 46" "$work/out"; do
  [ "$SECONDS" -lt 80 ] || fail "it is not back"
done
