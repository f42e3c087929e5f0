#!/usr/bin/env bash
# A plan shows now and then and every step, and changes nothing; a reset is only told.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  mixed:
    - devices: [0, 1, 2, 3]
      mig-enabled: false
    - devices: [4, 5, 6, 7]
      mig-enabled: true
      mig-devices: {1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1}
YAML
run 0 on_node partita mig export
cp "$work/out" "$work/before"

run 0 on_node partita mig plan -f "$work/mig.yaml" -c mixed
shows "── GPUs 0-3  NVIDIA A100-SXM4-40GB" "is and stays MIG off" \
  "── GPUs 4-7  NVIDIA A100-SXM4-40GB" "now   MIG off" "then  MIG on" " 2 reset the GPU" \
  "create GPU instance 3g.20gb at slice 4" "plan: 40 steps on 4 GPUs; with a GPU reset"
silent err
run 0 on_node partita mig plan -f "$work/mig.yaml" --gpu 1 -o json
shows '"kind": "MigPlan"' '"changes": false'
run 0 on_node partita mig plan --gpu 2 --want 3g.20gb,1g:4 -o yaml
shows "changes: true" "resetRequired: true" "- create GPU instance 1g.5gb at slice 3"

run 0 on_node partita mig export
cmp "$work/before" "$work/out" || fail "a plan changed the node"
