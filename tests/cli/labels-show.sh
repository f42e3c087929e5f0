#!/usr/bin/env bash
# `partita labels show`: each label with its value, where it comes from when asked, as a document; the same through the
# agent; sharing and MIG strategy are those of the agent's configuration.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
run 0 on_node partita labels show
silent err
shows "label" "value"
grep -qE '^nvidia.com/gpu.product +NVIDIA-A100-SXM4-40GB$' "$work/out" || fail "the product"
grep -qE '^nvidia.com/gpu.present +true$' "$work/out" || fail "gpu.present"
grep -qE '^partita.dev/gpu.models +1$' "$work/out" || fail "the number of products"
grep -qE '^nvidia.com/gpu.machine +DGXA100' "$work/out" || fail "the machine"
run 0 on_node partita labels show --explain --width 200
shows "comes from" "compute capability of GPU 7" "PCI class of its GPUs" "name of the machine"
run 0 on_node partita labels show --reference
! grep -q "/gpu.present\|partita.dev" "$work/out" || fail "more than the reference has"
run 0 on_node partita labels show -o json --explain
by_schema labels-v1 "$work/out"
cp "$work/out" "$work/direct"

# With an agent, which is asked for its GPUs.
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
run 0 on_node partita labels show -o json --explain
silent err
diff "$work/direct" "$work/out" || fail "the agent and the command see different nodes"

# Its configuration says how GPUs are shared.
cat >"$work/agent.yaml" <<'YAML'
version: partita/v1
devicePlugin:
  config:
    version: v1
    flags: {migStrategy: mixed}
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
YAML
run 0 on_node partita mig apply --gpu 1 --want 3g.20gb,1g.5gb --yes
run 0 on_node partita labels show -f "$work/agent.yaml"
grep -qE '^nvidia.com/gpu.product +NVIDIA-A100-SXM4-40GB-SHARED$' "$work/out" || fail "the shared product"
grep -qE '^nvidia.com/gpu.replicas +4$' "$work/out" || fail "the replicas"
grep -qE '^nvidia.com/mig-3g.20gb.count +1$' "$work/out" || fail "the MIG device"
run 2 on_node partita labels show -f "$work/absent.yaml"
complains "absent.yaml"
