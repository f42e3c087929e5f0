#!/usr/bin/env bash
# A GPU whose memory failed is back by itself after it was reset as `partita health` says, while the agent runs.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
# The simulated driver asks for nothing with them, which would count otherwise.
echo "health: {xids: {48: reset, 95: reset}}" >>"$PARTITA_CONFIG_FILE"
start_agent it
await it READY=1

# Until events are waited for, nobody hears it.
until partita-sim fault xid 95 --gpu 5 --node "$node" && ! on_node partita health >"$work/seen"; do
  [ "$SECONDS" -lt 50 ] || fail "the XID was not heard"
done
run 0 partita-sim fault xid 48 --gpu 4 --node "$node"
until_logged it "xid=48"
run 3 on_node partita health --width 400
shows "XID 48" "XID 95, a memory error that was not contained" "reset the GPU (nvidia-smi -r)" "partita health clear"
run 0 on_node nvidia-smi -r -i 4,5
until_health 0
logged it "healthy again"
