#!/usr/bin/env bash
# An XID of one slice: it alone gets no work, which a restart of the agent does not change; an operator clears it, and
# so does a reboot.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
run 0 on_node partita mig apply --gpu 0 --want 1g.5gb:2 --yes
agent_on=(partita-sim run --node "$node" --)
# The simulated driver asks for nothing with it, which would count otherwise.
echo "health: {xids: {95: reset}}" >>"$PARTITA_CONFIG_FILE"
start_agent first
await first READY=1
run 0 on_node partita health
[ "$(grep -c ' healthy' "$work/out")" -eq 10 ] || fail "not eight GPUs and two slices"

# field N KEY: of the N-th device.
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["devices"][int(sys.argv[2])][sys.argv[3]])' "$work/out" "$@"; }
run 0 on_node partita health -o json
by_schema health-v1 "$work/out"
ill=$(field 1 mig)
# Until events are waited for, nobody hears it.
until partita-sim fault xid 95 --gpu 0 --gi "$(field 1 gpuInstance)" --ci 0 --node "$node" &&
  on_node partita health -o json >"$work/seen"; [ "$(grep -c '"unhealthy"' "$work/seen")" -gt 0 ]; do
  [ "$SECONDS" -lt 50 ] || fail "the XID was not heard"
done
run 3 on_node partita health -o json
by_schema health-v1 "$work/out"
# The GPU counts the error: what it has may still get work.
[ "$(field 0 state) $(field 1 state) $(field 2 state)" = "degraded unhealthy degraded" ] || fail "not that slice alone"
run 3 on_node partita health --width 200
shows "XidCritical" "XID 95, a memory error that was not contained" "reset the GPU"
logged first "unhealthy (XidCritical)"

kill "${agent[first]}"
ended first 0
run 3 on_node partita health
silent err
run 1 on_node partita health clear "$ill"
complains "no agent runs here" "start partita agent"
start_agent second
await second READY=1
run 3 on_node partita health
shows "$ill"

run 1 on_node partita health clear MIG-nobody
complains "no GPU or MIG device"
run 0 on_node partita health clear 1
shows "nothing was wrong there alone"
run 3 on_node partita health
run 0 on_node partita health clear "$ill"
shows "cleared: 1"
logged second "faults were cleared by an operator"
run 0 on_node partita health

until partita-sim fault xid 95 --gpu 3 --node "$node" && ! on_node partita health >"$work/seen"; do
  [ "$SECONDS" -lt 50 ] || fail "the XID was not heard"
done
kill "${agent[second]}"
ended second 0
run 0 partita-sim reboot --node "$node"
run 0 on_node partita health
start_agent third
await third READY=1
run 0 on_node partita health
