#!/usr/bin/env bash
# The device plugin's document went bad while no agent ran: the last good one is served, with what the agent's own
# configuration adds to it, and the reason is told.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
run 0 on_node partita mig apply --gpu 1 --want 7g.40gb --yes
echo 'sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}' >"$work/v1.yaml"
configure "$good_config
devicePlugin: {configFile: $work/v1.yaml, offerMigParents: true}"
start_kubelet
start_agent first
await first READY=1
until_counted nvidia.com/gpu "16 of 16"
kill "${agent[first]}"
ended first 0

echo 'sharing: {timeSlicing: {}}' >"$work/v1.yaml"
start_kubelet
start_agent second
await second READY=1
until_counted nvidia.com/gpu "16 of 16"
logged second "bad configuration of the device plugin" "no resources specified" \
  "the last good configuration of the device plugin is in force"
