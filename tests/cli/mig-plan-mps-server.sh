#!/usr/bin/env bash
# A server of MPS stays on its GPU without clients, in the way of MIG: plan and apply say who it is and the command that
# frees the GPU. The daemon itself is in nobody's way.
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
share=$(ids nvidia.com/gpu.mps | sed -n 1p)
pipe=$root/${share%::*}/pipe
run 0 on_node partita mig plan --gpu 0 --want 1g.18gb:7

is "$(client context)" "init: 0 no error|context: 0 no error"
server=$(echo get_server_list | on_node env CUDA_MPS_PIPE_DIRECTORY="$pipe" nvidia-cuda-mps-control)
run 4 on_node partita mig plan --gpu 0 --want 1g.18gb:7 --width 400
shows "blocked until these end:" "$server nvidia-cuda-mps-server" \
  "pid $server is a server of MPS, which stays when its clients have gone"
command=$(sed -n 's/.*once it has none: //p' "$work/out")
run 4 on_node partita mig apply --gpu 0 --want 1g.18gb:7 --yes -o json
complains "GPU 0: its MIG mode cannot change while pid $server" "$command"

run 0 on_node sh -c "$command"
freed() { on_node partita mig plan --gpu 0 --want 1g.18gb:7 >/dev/null; }
until_true freed
run 0 on_node partita mig apply --gpu 0 --want 1g.18gb:7 --yes
shows "applied"

# The same on a MIG device: the instance of an idle server is not destroyed before the command ended it, its neighbour's is.
run 0 on_node partita mig apply --gpu 1 --want 3g.71gb,2g.35gb --yes
configure "$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    flags: {migStrategy: mixed}
    sharing: {mps: {resources: [{name: nvidia.com/mig-3g.71gb, replicas: 2}]}}"
until_counted nvidia.com/mig-3g.71gb "2 of 2"
share=$(ids nvidia.com/mig-3g.71gb | sed -n 1p)
pipe=$root/${share%::*}/pipe
is "$(client context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
server=$(echo get_server_list | on_node env CUDA_MPS_PIPE_DIRECTORY="$pipe" nvidia-cuda-mps-control)
run 0 on_node partita mig apply --gpu 1 --want 3g.71gb --yes
run 4 on_node partita mig plan --gpu 1 --want 1g.18gb:7 --width 400
shows "blocked until these end:" "$server nvidia-cuda-mps-server" \
  "pid $server is a server of MPS, which stays when its clients have gone"
command=$(sed -n 's/.*once it has none: //p' "$work/out")
[[ $command == *"shutdown_server $server "* ]] || fail "it is not ended by: $command"
run 4 on_node partita mig apply --gpu 1 --want 1g.18gb:7 --yes -o json
complains "pid $server" "$command"
run 0 on_node sh -c "$command"
freed() { on_node partita mig plan --gpu 1 --want 1g.18gb:7 >/dev/null; }
until_true freed
run 0 on_node partita mig apply --gpu 1 --want 1g.18gb:7 --yes
shows "applied"
