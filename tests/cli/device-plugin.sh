#!/usr/bin/env bash
# kubelet is told of every GPU, asked which ones are best together, and gives them to pods by CDI; what changes is told
# without a restart of anybody.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
start_kubelet
start_agent it
await it READY=1
until_kubelet '"registered": "nvidia.com/gpu"' '"endpoint": "nvidia-gpu.sock"' '"preferred": true' '"early": true' \
  '"version": "v1beta1"'
until_counted nvidia.com/gpu "8 of 8"
mapfile -t gpus < <(ids nvidia.com/gpu)

# What is allocated is in a file that engines read, and nothing but that is given.
run 0 speak allocate "$kubelet" nvidia.com/gpu "${gpus[5]}" "${gpus[2]}"
shows "\"cdi\": [\"k8s.device-plugin.nvidia.com/gpu=${gpus[2]}\", \"k8s.device-plugin.nvidia.com/gpu=${gpus[5]}\"]" \
  '"envs": {}' '"mounts": []' '"nodes": []' '"annotations": {}'
spec=$PARTITA_CDI_DIR/k8s.device-plugin.nvidia.com-gpu.json
grep -q "\"name\":\"${gpus[5]}\"" "$spec" || fail "not in $spec: ${gpus[5]}"
run 0 partita cdi validate "$spec"

run 0 speak prefer "$kubelet" nvidia.com/gpu 2 "${gpus[0]},${gpus[3]},${gpus[7]}" "${gpus[7]}"
shows "${gpus[7]}"
run 1 speak allocate "$kubelet" nvidia.com/gpu GPU-nobody
complains "INVALID_ARGUMENT" "invalid allocation request for \"nvidia.com/gpu\"" "unknown device: GPU-nobody"

# A kubelet that starts anew has forgotten everything.
start_kubelet
until_counted nvidia.com/gpu "8 of 8"

# Not wanted, it goes; wanted again, it is back.
configure "$good_config
devicePlugin: {enabled: false}"
until_kubelet '"ended": "nvidia.com/gpu"'
registrations() { grep -c '"registered": "nvidia.com/gpu"' "$work/kubelet.log"; }
before=$(registrations)
configure "$good_config"
registered_again() { [ "$(registrations)" -gt "$before" ]; }
until_true registered_again
until_counted nvidia.com/gpu "8 of 8"

# MIG, laid out under the agent, appears; what is gone is not given any more.
configure "$good_config
devicePlugin: {config: {version: v1, flags: {migStrategy: mixed}}}"
run 0 on_node partita mig apply --gpu 1 --want 3g.20gb,1g.5gb:2
until_counted nvidia.com/mig-1g.5gb "2 of 2"
until_counted nvidia.com/mig-3g.20gb "1 of 1"
until_counted nvidia.com/gpu "7 of 8"
[ "$(ids nvidia.com/gpu unhealthy)" = "${gpus[1]}" ] || fail "another GPU went"

# Another number of shares of the GPUs touches the GPUs alone: kubelet hears nothing of slices, and nothing of them is
# registered anew. The GPUs are told twice, so that what the first time says of slices has come by the second.
said_of() { grep -cE "\"(registered|list|ended)\": \"$1\"" "$work/kubelet.log"; }
told() { [[ $(counted nvidia.com/gpu) == "$1 of "* ]]; }
before=$(said_of nvidia.com/mig-3g.20gb)
# Five GPUs are free and whole.
for replicas in 2 3; do
  configure "$good_config
devicePlugin: {config: {version: v1, flags: {migStrategy: mixed},
  sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: $replicas}]}}}}"
  until_true told $((5 * replicas))
done
[ "$(said_of nvidia.com/mig-3g.20gb)" -eq "$before" ] || { cat "$work/kubelet.log" >&2; fail "slices were told anew"; }
configure "$good_config
devicePlugin: {config: {version: v1, flags: {migStrategy: mixed}}}"
until_true told 7

slice=$(ids nvidia.com/mig-1g.5gb | sed -n 1p)
run 0 speak allocate "$kubelet" nvidia.com/mig-1g.5gb "$slice"
shows "k8s.device-plugin.nvidia.com/gpu=$slice"
grep -q "\"name\":\"$slice\"" "$spec" || fail "not in $spec: $slice"
# The slice that a pod was given, whether or not anything runs there, is not taken.
run 4 on_node partita mig apply --gpu 1 --want none
shows "a pod not yet seen (nvidia.com/mig-1g.5gb)"

# A whole GPU that a pod was given, likewise: its mode stays.
run 0 speak allocate "$kubelet" nvidia.com/gpu "${gpus[3]}"

# Without kubelet nothing is lost, and it is told when it stops.
kill "${agent[it]}"
ended it 0
until_kubelet '"ended": "nvidia.com/gpu"'

# What it has given is theirs also while no agent runs.
run 4 on_node partita mig plan --gpu 1 --want none
shows "a pod not yet seen (nvidia.com/mig-1g.5gb)"
run 4 on_node partita mig apply --yes --gpu 1 --want none
shows "a pod not yet seen (nvidia.com/mig-1g.5gb)"
run 4 on_node partita mig apply --yes --gpu 3 --want 7g.40gb
shows "the GPU was given to a pod not yet seen (nvidia.com/gpu)"
run 0 on_node partita mig apply --yes --gpu 4 --want 7g.40gb
