#!/usr/bin/env bash
# Device nodes that kubelet is to pass are named below the agent's node.devRoot, else node.driverRoot; the roots of a
# document for NVIDIA's plugin mean nothing to an agent.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
mkdir "$work/dev-root"
# node_settings MORE
node_settings() {
  echo "version: partita/v1
listen: unix:$http
node: {kubeletRoot: $kubelet, criSocket: $work/cri.sock$1}
devicePlugin:
  config:
    version: v1
    flags:
      nvidiaDriverRoot: /elsewhere
      nvidiaDevRoot: /elsewhere
      plugin: {deviceListStrategy: envvar, passDeviceSpecs: true}"
}
# gives_below ROOT
gives_below() {
  run 0 speak allocate "$kubelet" nvidia.com/gpu "$first"
  shows "[\"/dev/nvidia0\", \"$1/dev/nvidia0\", \"rw\"]" "[\"/dev/nvidiactl\", \"$1/dev/nvidiactl\", \"rw\"]"
}

node_settings ", devRoot: $work/dev-root" >"$PARTITA_CONFIG_FILE"
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu "8 of 8"
first=$(ids nvidia.com/gpu | sed -n 1p)
gives_below "$work/dev-root"
kill "${agent[it]}"
ended it 0

node_settings "" >"$PARTITA_CONFIG_FILE"
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu "8 of 8"
gives_below ""
