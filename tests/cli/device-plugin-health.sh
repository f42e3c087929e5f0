#!/usr/bin/env bash
# A GPU that falls off the bus: every share of it, and nothing else, is unhealthy to kubelet, and well again by itself
# when it is back. An agent that starts in between knows it.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
echo "devicePlugin: {config: {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}}}" \
  >>"$PARTITA_CONFIG_FILE"
start_kubelet
start_agent it
await it READY=1
wait_counted() {
  until has_counted "$1" "$2"; do
    [ "$SECONDS" -lt 50 ] || { cat "$work/it.log" >&2; fail "kubelet has $1: $(counted "$1"), not $2"; }
    run 0 on_node partita status
  done
}
wait_counted nvidia.com/gpu "16 of 16"
mapfile -t shares < <(ids nvidia.com/gpu)
run 0 partita-sim fault lost --gpu 2 --node "$node"
wait_counted nvidia.com/gpu "14 of 16"
[ "$(ids nvidia.com/gpu unhealthy | xargs)" = "${shares[4]} ${shares[5]}" ] || fail "others are unhealthy"
# What kubelet has given already stays given: only new pods do without.
run 0 speak allocate "$kubelet" nvidia.com/gpu "${shares[0]}"

kill -9 "${agent[it]}"
ended it 137
from_now
start_agent it
await it READY=1
until_kubelet '"list": "nvidia.com/gpu"' '"Unhealthy"'
wait_counted nvidia.com/gpu "14 of 16"
run 0 partita-sim fault clear --all --node "$node"
wait_counted nvidia.com/gpu "16 of 16"
