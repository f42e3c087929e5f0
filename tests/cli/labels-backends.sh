#!/usr/bin/env bash
# Another backend takes away what the one before wrote, also with a restart; a taint goes when it is switched off; an API
# server that goes takes nothing.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/api_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" -- env POD_NAME=)
api POST /api/v1/nodes '{"kind": "Node", "metadata": {"name": "gpu-1", "labels": {"example.com/theirs": "1"}}}' >"$work/out"
with() { configure "$good_config
node: {name: gpu-1, kubeconfig: $kubeconfig}
$1"; }
with "taints: {enabled: true}"
start_agent it
await it READY=1
until_true has_label nvidia.com/gpu.count 8

# A taint, where asked for, and gone with the question.
tainted() { api GET "$node_path" | grep -q '"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"'; }
until_true tainted
with "taints: {enabled: false}"
untainted() { ! tainted; }
until_true untainted

# Elsewhere: what was written before goes.
with "labels: {backend: nodefeature}"
until_true has_label nvidia.com/gpu.count none
feature=/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/gpu/nodefeatures
made() { api GET $feature | grep -q '"name": "nvidia-features-for-gpu-1"'; }
until_true made
[ "$(label example.com/theirs)" = 1 ] || fail "somebody's label is gone"
with "labels: {backend: file, file: $work/gfd}"
until_true test -e "$work/gfd"
unmade() { ! made; }
until_true unmade
diff "$work/gfd" <(on_node partita labels show -o json | ours) || fail "the file has other labels than are shown"
kill "${agent[it]}"
ended it 0

# Another agent, another backend; the one before it is tidied up.
with "labels: {backend: node}"
start_agent second
await second READY=1
until_true has_label nvidia.com/gpu.count 8
[ ! -e "$work/gfd" ] || fail "the file is still there"

# Nobody answers for a while: GPUs are served, /readyz says so and is 200.
api POST /fake '{"outage": 1}' >"$work/out"
until_logged second "our Node is not seen: it is tried again"
page /readyz
until_logged second "our Node is not seen: it is tried again: over"
page /readyz
shows "[+] cluster" "[+] labels"
kill "${agent[second]}"
ended second 0
[ "$(label nvidia.com/gpu.count)" = 8 ] || fail "labels went with the agent"
