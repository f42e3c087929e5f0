#!/usr/bin/env bash
# XID 31 on one slice, made fatal by health.xids: its neighbours stay, the slice gets no work while the program runs that
# was there, and is back once that has ended.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
run 0 on_node partita mig apply --gpu 0 --want 1g.5gb:2 --yes
echo "health: {xids: {31: reset}}" >>"$PARTITA_CONFIG_FILE"
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
run 0 on_node partita health -o json
instance=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["devices"][1]["gpuInstance"])' "$work/out")
run 0 partita-sim workload start --detach --gpu 0 --mig "$instance:0" --memory 1GiB --node "$node" -- sleep 600
states() { python3 -c 'import json, sys; print(*(d["state"] for d in json.load(open(sys.argv[1]))["devices"][:4]))' "$work/seen"; }
look() { on_node partita health -o json >"$work/seen" || [ $? -eq 3 ]; }
# Until events are waited for, nobody hears it.
until partita-sim fault xid 31 --gpu 0 --gi "$instance" --ci 0 --node "$node" && look && [[ $(states) == *unhealthy* ]]; do
  [ "$SECONDS" -lt 50 ] || fail "the XID was not heard"
done
[ "$(states)" = "healthy unhealthy healthy healthy" ] || fail "not that slice alone: $(states)"
run 3 on_node partita health --width 200
shows "XID 31, a page fault of the GPU's MMU: look at the program that ran there; it is back when that has ended"
# A look proves nothing while the program runs.
for _ in 1 2 3; do
  run 0 on_node partita status
  look
  [ "$(states)" = "healthy unhealthy healthy healthy" ] || fail "it is back while the program runs: $(states)"
done
run 0 partita-sim workload stop --all --node "$node"
until look && [[ $(states) != *unhealthy* && $(states) != *recovering* ]]; do
  [ "$SECONDS" -lt 50 ] || fail "it is not back: $(states)"
done
logged it "healthy again (XidCritical is over)"
