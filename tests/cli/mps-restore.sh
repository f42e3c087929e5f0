#!/usr/bin/env bash
# A node that the agent has left for good: its GPUs get the compute modes back that they had before MPS.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
source "$(dirname "$0")/mps_common.sh"
restore() { run "$1" on_node partita mps restore "${@:2}"; }
restore 0
shows "no GPU is exclusive for MPS since this boot"

run 0 on_node nvidia-smi -i 1 -c PROHIBITED
echo "$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    sharing: {mps: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.mps, replicas: 2, devices: [0, 1, 2]}]}}" \
  >"$PARTITA_CONFIG_FILE"
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu.mps "6 of 6"
is "$(modes)" "Exclusive_Process Exclusive_Process"
# One that runs has them for its shares.
restore 4
complains "an agent runs on this node" "systemctl stop partita-agent"
is "$(modes)" "Exclusive_Process Exclusive_Process"
end_daemons
ended it 137

kept=$work/host$PARTITA_STATE_DIR
mkdir -p "$kept"
cp "$PARTITA_STATE_DIR/mps-modes" "$kept"
uuid() { on_node nvidia-smi -i "$1" --query-gpu=uuid --format=csv,noheader; }

# What the driver refuses is told, and done by the next call.
run 0 partita-sim fault call nvmlDeviceSetComputeMode --fail NO_PERMISSION --node "$node"
restore 1
complains "$(uuid 0) is not put back: " "$(uuid 1) is not put back: " "nvmlDeviceSetComputeMode"
is "$(modes)" "Exclusive_Process Exclusive_Process"
run 0 partita-sim fault clear --all --node "$node"
run 0 on_node nvidia-smi -i 2 -c PROHIBITED
restore 0
shows "$(uuid 0): default again" "$(uuid 1): prohibited again" "$(uuid 2): stays as it is, somebody else has set its mode"
is "$(modes)" "Default Prohibited"
restore 0
shows "no GPU is exclusive for MPS since this boot"

# As in a pod, with the host below a folder; and after a boot there is nothing to do.
run 0 on_node nvidia-smi -i 0 -c EXCLUSIVE_PROCESS
of_another_boot "$kept/mps-modes" >"$kept/other"
cp "$kept/mps-modes" "$work/this"
mv "$kept/other" "$kept/mps-modes"
restore 0 --host-root "$work/host"
shows "no GPU is exclusive for MPS since this boot"
is "$(modes)" "Exclusive_Process Prohibited"
cp "$work/this" "$kept/mps-modes"
restore 0 --host-root "$work/host"
shows "$(uuid 0): default again"
is "$(modes)" "Default Prohibited"
