#!/usr/bin/env bash
# The agent labels its Node as `partita labels show` says, follows GPUs and configuration, and leaves what others wrote.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/api_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" -- env POD_NAME=)
api POST /api/v1/nodes '{"kind": "Node", "metadata": {"name": "gpu-1", "labels": {"example.com/theirs": "1"}}}' >"$work/out"
with() { configure "$good_config
node: {name: gpu-1, kubeconfig: $kubeconfig}
$1"; }
with ""
start_agent it
await it READY=1
until_true has_label nvidia.com/gpu.count 8
run 0 on_node partita labels show -o json
ours <"$work/out" >"$work/shown"
api GET "$node_path" | ours >"$work/there"
diff "$work/shown" "$work/there" || fail "the Node has other labels than are shown"
[ "$(label example.com/theirs)" = 1 ] || fail "somebody's label is gone"

# What changes on the node, by configuration, and what somebody takes away.
run 0 on_node partita mig apply --gpu 1 --want 3g.20gb --yes
with "devicePlugin: {config: {version: v1, flags: {migStrategy: mixed}, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}}}"
until_true has_label nvidia.com/mig-3g.20gb.count 1
until_true has_label nvidia.com/gpu.product NVIDIA-A100-SXM4-40GB-SHARED
# The command shows what the agent writes, whatever its file says by now.
run 0 on_node partita labels show -o json
ours <"$work/out" >"$work/shown"
api GET "$node_path" | ours >"$work/there"
diff "$work/shown" "$work/there" || fail "the Node has other labels than are shown"
with ""
until_true has_label nvidia.com/mig-3g.20gb.count none
until_true has_label nvidia.com/gpu.product NVIDIA-A100-SXM4-40GB
api PATCH "$node_path" '{"metadata": {"labels": {"nvidia.com/gpu.count": null}}}' >"$work/out"
until_true has_label nvidia.com/gpu.count 8

kill "${agent[it]}"
ended it 0
[ "$(label nvidia.com/gpu.count)" = 8 ] || fail "labels went with the agent"
