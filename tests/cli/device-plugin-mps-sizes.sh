#!/usr/bin/env bash
# Shares by MPS of several sizes, of a GPU and of a MIG device: each size is a resource, its programs get its limits and no
# more, also where they take their variables away; several shares have several times the limits.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
chmod 755 "$work"
root=$work/mps
agent_on=(partita-sim run --node "$node" --)
run 0 on_node partita mig apply --gpu 1 --want 3g.71gb
# sizes FAIL LARGE: whether a container gets one share at most, and the memory of a large one.
sizes() {
  echo "$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    flags: {migStrategy: mixed}
    sharing:
      mps:
        failRequestsGreaterThanOne: $1
        resources:
        - name: nvidia.com/gpu
          devices: [0]
          shares:
          - {name: small, replicas: 3, memory: 10Gi, threads: 10}
          - {name: large, replicas: 1, memory: $2, threads: 50}
        - name: nvidia.com/mig-3g.71gb
          shares:
          - {name: small, replicas: 2, memory: 8Gi, threads: 20}
          - {name: large, replicas: 1, memory: 50%, threads: 50}"
}
sizes true 50% >"$PARTITA_CONFIG_FILE"

# First agents, which would start daemons again.
end_daemons() {
  for name in "${!agent[@]}"; do kill -9 "${agent[$name]}" 2>/dev/null; done
  for pid in $(grep -lsz "^CUDA_MPS_PIPE_DIRECTORY=$root/" /proc/[0-9]*/environ | cut -d/ -f3); do
    kill -9 "$pid" 2>/dev/null
  done
  return 0
}
on_exit=(end_daemons "${on_exit[@]}")
is() { [ "$1" = "$2" ] || fail "\"$1\", not \"$2\""; }

# take RESOURCE ID…: a pod's share. `told` is what its programs get, `pipe` where their daemon is on the host.
take() {
  run 0 speak allocate "$kubelet" "$@"
  pipe=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["mounts"][0][1])' <"$work/out")
  mapfile -t told < <(python3 -c 'import json, sys
for name, value in json.load(sys.stdin)["envs"].items():
    if name != "CUDA_MPS_PIPE_DIRECTORY":
        print(f"{name}={value}")' <"$work/out")
  device=${2%%::*}
}
# client [STEP…]: a program of that pod. A container would see its device only.
client() {
  on_node env CUDA_VISIBLE_DEVICES="$device" CUDA_MPS_PIPE_DIRECTORY="$pipe" "${told[@]}" \
    "$PARTITA_BIN/partita-sim-cuda-client" "$@" | paste -sd'|'
}
multiprocessors() { client devices | grep -o '[0-9]* multiprocessors'; }
# limited FITS TOO_MUCH
limited() {
  is "$(client context alloc "$1" alloc "$2")" \
    "init: 0 no error|context: 0 no error|alloc $1: 0 no error|alloc $2: 2 out of memory"
}
first() { ids "$1" | sed -n 1p; }

start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu.small "3 of 3"
until_counted nvidia.com/gpu.large "1 of 1"
until_counted nvidia.com/gpu "6 of 6"
until_counted nvidia.com/mig-3g.71gb.small "2 of 2"
until_counted nvidia.com/mig-3g.71gb.large "1 of 1"
gpu=$(first nvidia.com/gpu.large)
gpu=${gpu%%::*}
is "$(ids nvidia.com/gpu.small | paste -sd' ')" "$gpu::small-0 $gpu::small-1 $gpu::small-2"

take nvidia.com/gpu.small "$gpu::small-1"
shows '"CUDA_MPS_PIPE_DIRECTORY": "/mps/nvidia.com/gpu.small/pipe"' '"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=10240M"' \
  '"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "10"'
is "$pipe" "$root/$gpu/pipe"
limited 9G 1G
is "$(multiprocessors)" "12 multiprocessors"
# Without its variables it has the biggest share, not the GPU.
told=()
limited 60G 20G
is "$(multiprocessors)" "66 multiprocessors"
# The other size lives beside it, of the same daemon.
take nvidia.com/gpu.large "$gpu::large-0"
is "$pipe" "$root/$gpu/pipe"
limited 60G 20G
is "$(multiprocessors)" "66 multiprocessors"
run 1 speak allocate "$kubelet" nvidia.com/gpu.small "$gpu::small-0" "$gpu::small-2"
complains "maximum request size for shared resources is 1; found 2"

# The same of a MIG device: percentages are of it, not of its GPU.
take nvidia.com/mig-3g.71gb.small "$(first nvidia.com/mig-3g.71gb.small)"
is "$pipe" "$root/$device/pipe"
limited 7G 1G
small=$(multiprocessors)
take nvidia.com/mig-3g.71gb.large "$(first nvidia.com/mig-3g.71gb.large)"
limited 30G 6G
is "$small of $(multiprocessors)" "12 multiprocessors of 30 multiprocessors"

# What a pod would get, from the agent.
cat >"$work/pod.yaml" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: little}
spec: {containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu.small: 1}}}]}
YAML
run 0 on_node partita explain --width 200 -f "$work/pod.yaml"
shows "small share 1 of 3 of GPU 0" "at most 10.0 GiB and 10 % of the SMs for this one" \
  "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=10240M" "$root/$gpu/pipe on "
run 0 on_node partita explain -f "$work/pod.yaml" -o json
by_schema explain-v1 "$work/out"
shows '"size": "small"' '"memoryLimitMiB": 10240' '"threadPercent": 10' \
  "\"containerPath\": \"/mps/nvidia.com/gpu.small/pipe\"" "\"hostPath\": \"$root/$gpu/pipe\""

# Several in one container: as many times the limits. Who holds a share keeps its domain as it is: a ledger that knows
# nobody makes way for another.
kill -9 "${agent[it]}"
ended it 137
rm "$PARTITA_STATE_DIR"/ledger*
sizes false 50% >"$PARTITA_CONFIG_FILE"
start_kubelet
start_agent next
await next READY=1
# Its limits are in force when it says so.
together() { grep "MPS domain started" "$work/next.log" | grep -q "nvidia.com_gpu" && has_counted nvidia.com/gpu.small "3 of 3"; }
until_true together
take nvidia.com/gpu.small "$gpu::small-0" "$gpu::small-2"
limited 19G 1G
is "$(multiprocessors)" "26 multiprocessors"

# More than the GPU has is told, and that GPU is not offered; the MIG device is.
starts() { grep -c "MPS domain started step=MIG-" "$work/next.log"; }
started=$(starts)
has_started() { [ "$(starts)" -gt "$started" ]; }
configure "$(sizes true 100%)"
until_logged next "its shares take 174491 MiB of memory together, and it has 143771 MiB for them"
until_true has_started
until_counted nvidia.com/mig-3g.71gb.large "1 of 1"

# Several shares of a MIG device in one container.
started=$(starts)
configure "$(sizes false 50%)"
until_true has_started
until_counted nvidia.com/mig-3g.71gb.small "2 of 2"
mapfile -t small < <(ids nvidia.com/mig-3g.71gb.small)
take nvidia.com/mig-3g.71gb.small "${small[@]}"
shows '"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=16384M"' '"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "40"'
is "$pipe" "$root/$device/pipe"
twice() {
  limited 15G 1G
  is "$(multiprocessors)" "24 multiprocessors"
}
twice
# Its daemon dies, and comes back for the same shares.
daemon_of() { cat "$root/$device/pipe/nvidia-cuda-mps-control.pid"; }
daemon=$(daemon_of)
started=$(starts)
kill -9 "$daemon"
until_true has_started
until_counted nvidia.com/mig-3g.71gb.small "2 of 2"
[ "$(daemon_of)" != "$daemon" ] || fail "no other daemon"
twice
