#!/usr/bin/env bash
# The token that a kubeconfig has written out is exchanged while the agent runs. Until the file has the new one nothing is
# lost that was to be told, and the error says why the file's own is not used; then all of it is told, without a restart.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/api_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" -- env POD_NAME=)
api POST /api/v1/nodes '{"kind": "Node", "metadata": {"name": "gpu-1"}}' >"$work/out"
configure "$good_config
node: {name: gpu-1, kubeconfig: $kubeconfig}"
start_agent it
await it 'READY=1*'
until_true has_label nvidia.com/gpu.count 8

# Only another token is good, and the file is not whole yet.
cp "$kubeconfig" "$work/whole"
echo "users: [" >"$kubeconfig"
api POST /fake '{"token": "second"}' >"$work/out"
api_token=second
run 0 partita-sim set --node "$node" --gpu 7 pci-driver=vfio
configure "$good_config
node: {name: gpu-1, kubeconfig: $kubeconfig}
nonesuch: 1"
until_logged it "the API server answers 401"
until_logged it "what was read of it before is in force"
logged it "$kubeconfig"
has_label nvidia.com/gpu.count 8 || fail "the refused token is good"

sed 's/token: token/token: second/' "$work/whole" >"$work/whole.new"
mv "$work/whole.new" "$kubeconfig"
until_true has_label nvidia.com/gpu.count 7
told() { api GET /apis/events.k8s.io/v1/namespaces/default/events | grep -q "ConfigRejected"; }
until_true told
kill "${agent[it]}"
ended it 0
