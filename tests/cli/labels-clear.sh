#!/usr/bin/env bash
# What an agent left on its Node goes by one command: labels, annotations, conditions and the taint, and nothing of others.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/api_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" -- env POD_NAME=)
for name in gpu-1 other; do
  api POST /api/v1/nodes '{"kind": "Node", "metadata": {"name": "'$name'", "labels": {"example.com/theirs": "1",
    "nvidia.com/gpu.deploy.driver": "true"}}, "spec": {"taints": [{"key": "example.com/t", "effect": "NoSchedule"}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]}}' >"$work/out"
done
configure "$good_config
node: {name: gpu-1, kubeconfig: $kubeconfig}
devicePlugin: {configDir: $work/named, default: whole}
taints: {enabled: true}"
mkdir "$work/named"
echo 'version: v1' >"$work/named/whole"
start_agent it
await it READY=1
until_true has_label nvidia.com/gpu.count 8
node_has() { api GET "$node_path" | grep -qF -- "$1"; }
until_true node_has '"key": "nvidia.com/gpu", "value": "present"'
until_true node_has 'partita.dev/GPUConfigApplied'
kill "${agent[it]}"
ended it 0
node_has '"nvidia.com/gpu.count"' || fail "labels went with the agent"

clear=(partita labels clear --kubeconfig "$kubeconfig")
taint=nvidia.com/gpu=present:NoSchedule
run 2 "${clear[@]}"
complains "no node is named" "name nodes, or all of them with --all"
run 2 "${clear[@]}" --all gpu-1
run 2 "${clear[@]}" --all --taint =x
complains "--taint" "KEY=VALUE:EFFECT"
run 1 "${clear[@]}" absent
complains '"absent" not found'

api GET "$node_path" >"$work/before"
run 0 "${clear[@]}" --all --taint $taint --dry-run
shows " labels, 1 annotation, condition partita.dev/GPUConfigApplied, taint $taint would go" "other: nothing of partita's"
api GET "$node_path" | diff "$work/before" - || fail "a dry run has changed the Node"

# A taint that nobody names stays.
run 0 "${clear[@]}" gpu-1
shows "gpu-1: " " labels, 1 annotation, condition partita.dev/GPUConfigApplied removed"
node_has '"key": "nvidia.com/gpu", "value": "present"' || fail "a taint went that was not named"
run 0 "${clear[@]}" --all --taint $taint
shows "gpu-1: taint $taint removed" "other: nothing of partita's"
for text in nvidia.com/gpu.count partita.dev/ '"present"'; do
  ! node_has "$text" || fail "the Node still has $text"
done
for text in '"example.com/theirs": "1"' '"nvidia.com/gpu.deploy.driver": "true"' '"key": "example.com/t"' '"type": "Ready"'; do
  node_has "$text" || fail "somebody's $text is gone"
done
run 0 "${clear[@]}" --all --taint $taint
shows "gpu-1: nothing of partita's"

# A cluster whose Nodes are more than a client reads at once.
python3 -B - "$administrators_port" "$work/api.pem" <<'PY'
import http.client, json, ssl, sys
server = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=ssl.create_default_context(cafile=sys.argv[2]))
for number in range(250):
    node = {"kind": "Node", "metadata": {"name": f"large-{number}", "annotations": {"example.com/large": 70_000 * "x"}}}
    server.request("POST", "/api/v1/nodes", json.dumps(node), {"Authorization": "Bearer token"})
    answer = server.getresponse()
    answer.read()
    assert answer.status == 201, answer.status
PY
run 0 "${clear[@]}" --all
[ "$(grep -c "nothing of partita's" "$work/out")" -eq 252 ] || fail "not every Node was looked at"

# The same taint by somebody else is his.
api PATCH "$node_path" '{"spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}}' >"$work/out"
run 0 "${clear[@]}" --all --taint $taint
shows "gpu-1: nothing of partita's"
node_has '"key": "nvidia.com/gpu", "value": "present"' || fail "somebody's taint is gone"
