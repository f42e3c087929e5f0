#!/usr/bin/env bash
# A GPU is exchanged for another model while the driver is away: the running agent writes the new model's labels and takes
# back the old one's, onto the Node and into NFD's file; what others wrote stays.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/api_common.sh"

up mixed
agent_on=(partita-sim run --node "$node" -- env POD_NAME=)
api POST /api/v1/nodes '{"kind": "Node", "metadata": {"name": "gpu-1", "labels": {"example.com/theirs": "1"}}}' >"$work/out"
with() { configure "$good_config
node: {name: gpu-1, kubeconfig: $kubeconfig}
$1"; }
exchange() {
  run 0 partita-sim driver unload --node "$node" --force
  run 0 partita-sim exchange --node "$node" --gpu "$1" "$2"
  run 0 partita-sim driver load --node "$node"
}
# until_shown WRITTEN LABEL: that label was written, and all are as `partita labels show` has them. A GPU that is slow to tell
# its memory has that label a moment later.
until_shown() {
  until "$1" >"$work/written" && grep -qx "$2" "$work/written" && on_node partita labels show -o json | ours | cmp -s - "$work/written"; do
    [ "$SECONDS" -lt 100 ] || { cat "$work/it.log" "$work/written" >&2; fail "never written: $2, and all that is shown"; }
  done
}
with ""
start_agent it
await it READY=1
until_true has_label nvidia.com/gpu.product Tesla-T4
has_label nvidia.com/gpu.family turing || fail "the family"

# The first one: what the reference's labels describe.
exchange 0 A30
on_it() { api GET "$node_path" | ours; }
until_shown on_it nvidia.com/gpu.product=NVIDIA-A30
on_it >"$work/there"
grep -qx partita.dev/gpu.0.product=NVIDIA-A30 "$work/there" || fail "the product of its own"
! grep -q Tesla-T4 "$work/there" || fail "a label of the board that went"
grep -q '^nvidia.com/gpu.family=ampere$' "$work/there" || fail "the family is still the old one's"
[ "$(label example.com/theirs)" = 1 ] || fail "somebody's label is gone"

# Another of a model that is there already: one product less.
exchange 1 A100-SXM4-40GB
until_true has_label partita.dev/gpu.models 2
until_true has_label partita.dev/gpu.1.count 2
until_true has_label partita.dev/gpu.2.product none

# Into NFD's file.
with "labels: {backend: file, file: $work/gfd}"
until_true test -e "$work/gfd"
exchange 0 H100-80GB-HBM3
in_file() { cat "$work/gfd"; }
until_shown in_file partita.dev/gpu.0.product=NVIDIA-H100-80GB-HBM3
! grep -q A30 "$work/gfd" || fail "the file has a label of the board that went"

kill "${agent[it]}"
ended it 0
