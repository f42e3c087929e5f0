#!/usr/bin/env bash
# GPUs shared by MPS beside time-sliced and whole ones: pods get the way to a daemon that is there, limits hold, what
# dies comes back, and an agent that is killed leaves daemons and clients alone.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
source "$(dirname "$0")/mps_common.sh"
mps_config="$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    sharing:
      mps: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.mps, replicas: 2, devices: [0]}]}
      timeSlicing: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.sliced, replicas: 3, devices: [1]}]}"
echo "$mps_config" >"$PARTITA_CONFIG_FILE"

# Where nobody runs daemons no share is good.
echo "${mps_config/runner: child/runner: off}" >"$PARTITA_CONFIG_FILE"
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu "6 of 6"
until_counted nvidia.com/gpu.mps "0 of 2"
run 3 on_node partita health --width 200
shows "MPS domain GPU-" "gives no shares: sharing.mps needs a runner of daemons, and mps.runner is off: set it to auto"
run 3 on_node partita health -o json
cp "$work/out" "$work/health.json"
by_schema health-v1 "$work/health.json"
configure "$mps_config"
until_counted nvidia.com/gpu.mps "2 of 2"
run 0 on_node partita health
run 0 on_node partita status --width 120
shows "shared by MPS" "GPU 0  ready"
run 0 on_node partita status --gpu 1
! grep -q "shared by MPS" "$work/out" || fail "a domain of a GPU that is not shown"
run 0 on_node partita status -o json
cp "$work/out" "$work/status.json"
by_schema status-v1 "$work/status.json"
until_counted nvidia.com/gpu.sliced "3 of 3"
until_counted nvidia.com/gpu "6 of 6"
share=$(ids nvidia.com/gpu.mps | sed -n 1p)
gpu=${share%::*}
pipe=$root/$gpu/pipe

run 0 speak allocate "$kubelet" nvidia.com/gpu.mps "$share"
shows "\"cdi\": [\"k8s.device-plugin.nvidia.com/gpu=$gpu\"]" \
  '"envs": {"CUDA_MPS_PIPE_DIRECTORY": "/mps/nvidia.com/gpu.mps/pipe"}' \
  "\"mounts\": [[\"/mps/nvidia.com/gpu.mps/pipe\", \"$pipe\"], [\"/dev/shm\", \"$root/$gpu/shm\"]]"
run 1 speak allocate "$kubelet" nvidia.com/gpu.mps "$share" "$gpu::1"
complains "maximum request size for shared resources is 1; found 2"

# Half of the GPU, and no more.
is "$(client context alloc 60G alloc 20G)" \
  "init: 0 no error|context: 0 no error|alloc 60G: 0 no error|alloc 20G: 2 out of memory"
is "$(client devices | grep -o '[0-9]* multiprocessors')" "66 multiprocessors"
is "$(modes)" "Exclusive_Process Default"

# A daemon that is killed is back before kubelet could be told; one that is killed again a second later, and its shares go
# and come back.
daemon=$(cat "$pipe/nvidia-cuda-mps-control.pid")
from_now
kill -9 "$daemon"
another() { grep -qvx "$daemon" "$pipe/nvidia-cuda-mps-control.pid" 2>/dev/null; }
until_true another
daemon=$(cat "$pipe/nvidia-cuda-mps-control.pid")
kill -9 "$daemon"
until_kubelet '"list": "nvidia.com/gpu.mps"' '"health": "Unhealthy"'
until_true another # what kubelet was told may be of the first
until_counted nvidia.com/gpu.mps "2 of 2"
is "$(client context)" "init: 0 no error|context: 0 no error"

# A client's fault leaves its server in FAULT for every later one, until another is made. (Mostly sooner than kubelet could
# be told of it.)
is "$(client context fault)" "init: 0 no error|context: 0 no error|fault: 700 an illegal memory access was encountered"
works() { [ "$(client context kernel)" = "init: 0 no error|context: 0 no error|kernel: 0 no error" ]; }
until_true works
until_counted nvidia.com/gpu.mps "2 of 2"

# An agent that is killed: clients go on, and the next one knows the daemon again.
mkfifo "$work/client.in"
on_node env CUDA_MPS_PIPE_DIRECTORY="$pipe" "$PARTITA_BIN/partita-sim-cuda-client" context wait sync \
  <"$work/client.in" >"$work/client.out" &
client_pid=$!
on_exit+=("kill -9 $client_pid")
exec {client_in}>"$work/client.in"
began() { grep -q "context: 0 no error" "$work/client.out"; }
until_true began
# Meanwhile it is there once, as a client, and its server beside it.
processes() {
  on_node partita status -o json | python3 -c 'import json, sys
print(sorted((each["kind"], each["name"].split("/")[-1]) for gpu in json.load(sys.stdin)["gpus"] for each in gpu["processes"]))'
}
both() { [ "$(processes)" = "[('compute', 'nvidia-cuda-mps-server'), ('mps', 'partita-sim-cuda-client')]" ]; }
until_true both
daemon=$(cat "$pipe/nvidia-cuda-mps-control.pid")
kill -9 "${agent[it]}"
ended it 137
start_kubelet
start_agent next
await next READY=1
until_counted nvidia.com/gpu.mps "2 of 2"
is "$(cat "$pipe/nvidia-cuda-mps-control.pid")" "$daemon"
grep -q "MPS domain adopted" "$work/next.log" || fail "it was not adopted"

# A reload that gives shares other limits, and one that shares nothing by MPS, while a pod has a share: its daemon stays
# as it is, with clients and mode. Nothing else of that GPU is given away.
configure "${mps_config/replicas: 2/replicas: 4}"
until_counted nvidia.com/gpu.mps "0 of 4"
run 0 on_node partita status --width 120
shows "pods hold shares of it as it was before: it changes when they have gone"
configure "$good_config
mps: {root: $root}"
until_counted nvidia.com/gpu "7 of 8"
run 0 on_node partita status --width 120
shows "GPU 0  ready, but only for pods that hold shares already"
logged next "MPS domain: kept as it was until the pods that hold shares of it have gone"
is "$(cat "$pipe/nvidia-cuda-mps-control.pid") $(modes)" "$daemon Exclusive_Process Default"
kill -9 "${agent[next]}"
ended next 137
start_kubelet
start_agent other
await other READY=1
until_counted nvidia.com/gpu "7 of 8"
until_logged other "MPS domain adopted"
is "$(cat "$pipe/nvidia-cuda-mps-control.pid") $(modes)" "$daemon Exclusive_Process Default"
echo >&"$client_in"
wait "$client_pid" || true
grep -q "sync: 0 no error" "$work/client.out" || fail "a client lost its daemon"

# A ledger that knows nobody, and a kubelet that names no pod: it ends, and the GPU is as it was.
kill -9 "${agent[other]}"
ended other 137
rm "$PARTITA_STATE_DIR"/ledger*
start_kubelet
start_agent last
await last READY=1
as_before() { [ "$(modes)" = "Default Default" ] && ! kill -0 "$daemon" 2>/dev/null; }
until_true as_before
until_counted nvidia.com/gpu "8 of 8"
