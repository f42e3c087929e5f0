#!/usr/bin/env bash
# An agent that starts while one GPU is lost, or hangs, offers the others without waiting for it: not for the ten seconds
# in which a driver may wake up.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu "8 of 8"

# starts_with FAULT…
starts_with() {
  kill -9 "${agent[it]}"
  ended it 137
  run 0 partita-sim fault "$@" --node "$node"
  start_kubelet
  start_agent it
  await it READY=1
  until_kubelet '"list": "nvidia.com/gpu"' '"Healthy"'
  [ "$(woken first-look)" = 0 ] || { cat "$work/it.log" >&2; fail "it has waited: $*"; }
  [ "$(counted nvidia.com/gpu)" = "7 of 8" ] || fail "kubelet has $(counted nvidia.com/gpu)"
}
starts_with lost --gpu 0
run 0 partita-sim fault clear --all --node "$node"
until_counted nvidia.com/gpu "8 of 8"
starts_with call '*' --hang --gpu 1
run 0 partita-sim fault clear --all --node "$node"
