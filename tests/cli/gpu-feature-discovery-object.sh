#!/usr/bin/env bash
# Under the reference's name labels go into the NodeFeature object, as its manifests expect: made, replaced where it
# differs, left alone where it does not, owned by the pod's DaemonSet.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/api_common.sh"

up dgx-a100-40
mkdir "$work/bin"
ln -s "$(command -v partita)" "$work/bin/gpu-feature-discovery"
gfd=(env NODE_NAME=gpu-1 NAMESPACE=gpu partita-sim run --node "$node" -- "$work/bin/gpu-feature-discovery" --kubeconfig "$kubeconfig")
folder=/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/gpu/nodefeatures
object=$folder/nvidia-features-for-gpu-1
# of KEY…: what stands there in the object.
of() {
  api GET "$object" | python3 -c 'import json, sys
at = json.load(sys.stdin)
for key in sys.argv[1:]:
    at = at[int(key)] if isinstance(at, list) else at.get(key)
print(at if isinstance(at, str) else json.dumps(at))' "$@"
}
requests() { api GET /fake | grep -o "\"$1\": [0-9]*" | cut -d' ' -f3; }

# Of a pod that a DaemonSet has.
api POST /api/v1/namespaces/gpu/pods '{"kind": "Pod", "metadata": {"name": "gfd-x", "ownerReferences": [
  {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gfd", "uid": "u-set"}]}}' >"$work/out"
run 0 env POD_NAME=gfd-x "${gfd[@]}" --oneshot --no-timestamp
complains '"useNodeFeatureAPI": true'
[ "$(of metadata labels nfd.node.kubernetes.io/node-name)" = gpu-1 ] || fail "no node: $(of metadata labels)"
[ "$(of spec labels nvidia.com/gpu.count)" = 8 ] || fail "no GPUs: $(of spec labels)"
[ "$(of spec labels nvidia.com/gpu.present)" = null ] || fail "more than the reference has"
[ "$(of metadata ownerReferences 0 uid)" = u-set ] || fail "no owner: $(of metadata ownerReferences)"
version=$(of metadata resourceVersion)

# The same again writes nothing; without a pod's name the owners stay; what differs is replaced.
run 0 "${gfd[@]}" --oneshot --no-timestamp --use-node-feature-api
[ "$(of metadata resourceVersion)" = "$version" ] || fail "written although nothing differs"
[ "$(requests "create nodefeatures")" = 1 ] && [ -z "$(requests "update nodefeatures")" ] || fail "requests"
run 0 on_node partita mig apply --gpu 1 --want 3g.20gb --yes
run 0 "${gfd[@]}" --oneshot --no-timestamp --mig-strategy mixed
[ "$(of spec labels nvidia.com/mig-3g.20gb.count)" = 1 ] || fail "no MIG device: $(of spec labels)"
[ "$(of metadata ownerReferences 0 uid)" = u-set ] || fail "the owner is gone"
run 0 env POD_NAME=absent "${gfd[@]}" --oneshot --no-timestamp
complains "warning: the NodeFeature object has no owner: " '"absent" not found'

# It goes on, and an API server that is away for a while costs nothing but time.
"${gfd[@]}" --sleep-interval 1s 2>"$work/it.log" &
agent[it]=$!
on_exit+=("kill -9 $!")
stamped() { [ "$(of spec labels nvidia.com/gfd.timestamp)" != null ]; }
until_true stamped
api POST /fake '{"outage": 1.5}' >"$work/out"
until_logged it "the labels that were written last stay"
until_logged it "labels are written again"
kill "${agent[it]}"
ended it 0
[ "$(of spec labels nvidia.com/gpu.count)" = 8 ] || fail "the object is gone"

# Wrong words.
run 1 env NAMESPACE=gpu "${gfd[@]:3}" --oneshot
complains "which is not named" "NODE_NAME"
run 1 env NODE_NAME=gpu-1 partita-sim run --node "$node" -- "$work/bin/gpu-feature-discovery" --oneshot
complains "--use-node-feature-api=false"
