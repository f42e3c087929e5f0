#!/usr/bin/env bash
# A program that got a GPU while its MPS daemon was away: it is told with its pid, also by an agent that comes later.
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
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu.mps "2 of 2"
gpu=$(ids nvidia.com/gpu.mps | sed -n 1p)
gpu=${gpu%::*}
pipe=$root/$gpu/pipe

# With a server and a client nobody is beside it.
is "$(client context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
run 0 on_node partita status --width 400
! grep -q "without MPS" "$work/out" || fail "a server is taken for a stranger"
echo "shutdown_server $(echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$pipe on_node nvidia-cuda-mps-control) -f" |
  CUDA_MPS_PIPE_DIRECTORY=$pipe on_node nvidia-cuda-mps-control >/dev/null

# Somebody takes the GPU without a daemon: its clients do not get in.
mkfifo "$work/stranger.in"
on_node env CUDA_MPS_PIPE_DIRECTORY="$work/none" CUDA_VISIBLE_DEVICES="$gpu" "$PARTITA_BIN/partita-sim-cuda-client" \
  context wait <"$work/stranger.in" >"$work/stranger.out" &
on_exit+=("kill -9 $!")
exec {stranger_in}>"$work/stranger.in"
got_it() { grep -q "context: 0 no error" "$work/stranger.out"; }
until_true got_it
pid=$(on_node nvidia-smi --query-compute-apps=pid --format=csv,noheader -i "$gpu")
client context | grep -q "context: 0" && fail "a client got in beside it"
told() { on_node partita status --width 400 >"$work/out" && grep -q "process $pid (partita-sim-cuda-client) computes there without MPS" "$work/out"; }
until_true told
shows "end it (kill $pid), and what starts anew is under MPS"
run 0 on_node partita health --width 400
shows "MPS domain $gpu: process $pid (partita-sim-cuda-client) computes there without MPS"
run 0 on_node partita health -o json
cp "$work/out" "$work/health.json"
by_schema health-v1 "$work/health.json"
logged it "MPS domain: somebody is beside it"

kill -9 "${agent[it]}"
ended it 137
start_kubelet
start_agent next
await next READY=1
until_counted nvidia.com/gpu.mps "2 of 2"
until_true told

# As the text has it.
kill "$pid"
over() { on_node partita status --width 400 >"$work/out" && ! grep -q "without MPS" "$work/out"; }
until_true over
is "$(client context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
