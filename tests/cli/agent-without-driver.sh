#!/usr/bin/env bash
# Where no driver is loaded an agent stays, says so and serves as soon as there is one; under the reference's name it
# ends, unless told not to.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up dgx-a100-40
partita-sim driver unload --node "$node"
agent_on=(partita-sim run --node "$node" --)
start_kubelet
start_agent it
await it READY=1
until_logged it "no driver answers"
run 6 on_node partita health
complains "Driver Not Loaded"
partita-sim driver load --node "$node"
until_logged it "the driver answers"
until_counted nvidia.com/gpu "8 of 8"
kill "${agent[it]}"
ended it 0

partita-sim driver unload --node "$node"
mkdir "$work/bin"
ln -s "$(command -v partita)" "$work/bin/nvidia-device-plugin"
plugin=(partita-sim run --node "$node" -- "$work/bin/nvidia-device-plugin"
  --kubelet-socket "$kubelet/device-plugins/kubelet.sock")
run 1 "${plugin[@]}"
complains "Driver Not Loaded" "modprobe nvidia"
"${plugin[@]}" --fail-on-init-error=false 2>"$work/stays.log" &
agent[stays]=$!
on_exit+=("kill -9 $!")
until_logged stays "no driver answers"
partita-sim driver load --node "$node"
until_counted nvidia.com/gpu "8 of 8"
kill "${agent[stays]}"
ended stays 0
