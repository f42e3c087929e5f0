#!/usr/bin/env bash
# A driver that lets nobody change a GPU's compute mode: health and status say so, before MPS and after it.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
source "$(dirname "$0")/mps_common.sh"
with_mps() {
  echo "$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    sharing: {mps: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.mps, replicas: $1, devices: [0]}]}}"
}
refuse() { run 0 partita-sim fault call nvmlDeviceSetComputeMode --fail NO_PERMISSION --node "$node"; }
with_mps 2 >"$PARTITA_CONFIG_FILE"
refuse
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu.mps "2 of 2"
is "$(modes)" "Default Default"
gpu=$(ids nvidia.com/gpu.mps | sed -n 1p)
gpu=${gpu%::*}

# Shares are given all the same.
refused="its compute mode could not be made EXCLUSIVE_PROCESS, so that programs beside MPS may come in"
run 0 on_node partita health --width 400
shows "MPS domain $gpu: $refused" "nvmlDeviceSetComputeMode" "tried again every 30 s"
run 0 on_node partita status --width 400
shows "GPU 0  ready" "$refused"
for kind in health status; do
  run 0 on_node partita "$kind" -o json
  cp "$work/out" "$work/$kind.json"
  by_schema "$kind-v1" "$work/$kind.json"
  shows "\"warning\": \"$refused"
done

run 0 partita-sim fault clear --all --node "$node"
configure "$(with_mps 3)"
until_true modes_are "Exclusive_Process Default"
until_counted nvidia.com/gpu.mps "3 of 3"
run 0 on_node partita health
! grep -q "compute mode" "$work/out" || fail "what is over is told"

# Nothing is shared any more, and the GPU is not as before.
refuse
configure "$good_config
mps: {root: $root, runner: child}"
until_health 3
shows "MPS domain $gpu: gives no shares: it has ended" \
  "MPS domain $gpu: its compute mode could not be put back to what it was before MPS" \
  "set it by hand: nvidia-smi -i $gpu -c 0"
is "$(modes)" "Exclusive_Process Default"
run 0 on_node partita status --width 400
shows "it has ended" "could not be put back"
