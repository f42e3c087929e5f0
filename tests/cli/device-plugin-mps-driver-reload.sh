#!/usr/bin/env bash
# A driver that is loaded again has forgotten that GPUs were made exclusive for MPS: the agent makes them so again, those of
# domains and no others, and still knows how they were before all.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
source "$(dirname "$0")/mps_common.sh"
echo "$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    sharing: {mps: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.mps, replicas: 2, devices: [0]}]}}" \
  >"$PARTITA_CONFIG_FILE"
run 0 on_node nvidia-smi -i 0 -c PROHIBITED
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu.mps "2 of 2"
is "$(modes)" "Exclusive_Process Default"
run 0 partita-sim driver reload --node "$node"
until_true modes_are "Exclusive_Process Default"
until_counted nvidia.com/gpu.mps "2 of 2"

configure "$good_config
mps: {root: $root, runner: child}"
until_true modes_are "Prohibited Default"
