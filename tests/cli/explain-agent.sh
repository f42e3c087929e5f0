#!/usr/bin/env bash
# `partita explain` asks the agent: what kubelet was shown, who holds what by the name of its pod, what is unhealthy; and
# what it says is what kubelet is answered.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

pod() {
  cat >"$work/pod.yaml" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: asks}
spec:
  containers:
  - name: main
    image: i
    resources: {limits: {$1}}
YAML
}

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
configure "$good_config
devicePlugin:
  config:
    version: v1
    flags: {migStrategy: mixed}
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2, devices: [0]}]}}"
run 0 on_node partita mig apply --gpu 1 --want 3g.20gb,1g.5gb:2 --yes
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu "8 of 8"
until_counted nvidia.com/mig-1g.5gb "2 of 2"

# What it says it gives is what kubelet is answered; then it is held, and the pod gets a name.
pod "nvidia.com/mig-1g.5gb: 1"
run 0 on_node partita explain --width 200 -f "$work/pod.yaml"
silent err
shows "would run" "1g.5gb"
given=$(grep -o 'nvidia.com/gpu=MIG-[0-9a-f-]*' "$work/out")
slice=${given#*=}
echo "[{\"namespace\": \"default\", \"pod\": \"train\", \"container\": \"main\",
  \"resource\": \"nvidia.com/mig-1g.5gb\", \"ids\": [\"$slice\"]}]" >"$kubelet/pods.json"
run 0 speak allocate "$kubelet" nvidia.com/mig-1g.5gb "$slice"
shows "$given"
run 0 on_node partita explain --width 200 -f "$work/pod.yaml"
! grep -q "$slice" "$work/out" || fail "the slice that is held is given"
pod "nvidia.com/mig-1g.5gb: 2"
held_by_train() {
  on_node partita explain --width 200 -f "$work/pod.yaml" >"$work/held" || true
  grep -q "held by pod default/train (main)" "$work/held"
}
until_true held_by_train
run 3 on_node partita explain --width 200 -f "$work/pod.yaml"
shows "would not run" "1 of 2 is free"
run 3 on_node partita explain --width 200 -f "$work/pod.yaml" -o json
by_schema explain-v1 "$work/out"
shows '"node": "agent"' '"code": "NotFree"' '"held": 1'

# What would have to be made, without harm to who holds something.
pod "nvidia.com/mig-2g.10gb: 1"
run 3 on_node partita explain --width 200 -f "$work/pod.yaml"
command=$(grep -o 'partita mig apply --gpu [0-9]* --want [^ `]*' "$work/out") || fail "no command"
# shellcheck disable=SC2086
run 0 on_node $command --yes
until_counted nvidia.com/mig-2g.10gb "1 of 1"
run 0 on_node partita explain --width 200 -f "$work/pod.yaml"

# The shares of one GPU beside whole ones.
pod "nvidia.com/gpu: 1"
run 0 on_node partita explain --width 200 -f "$work/pod.yaml"
shows "0 █░"

# The agent's taint is its node's.
configure "$good_config
taints: {enabled: true}"
tainted() {
  on_node partita explain --width 200 -f "$work/pod.yaml" >"$work/tainted" || true
  grep -q "is not tolerated" "$work/tainted"
}
until_true tainted
run 3 on_node partita explain --width 200 -f "$work/pod.yaml"
shows "would not run" "the node's taint nvidia.com/gpu=present:NoSchedule is not tolerated"

# A device plugin that is off.
configure "$good_config
devicePlugin: {enabled: false}"
until_kubelet '"ended": "nvidia.com/gpu"'
run 3 on_node partita explain --width 200 -f "$work/pod.yaml"
shows "would not run" "the agent offers nothing to kubelet now"
