#!/usr/bin/env bash
# apply makes the node what a file says, keeps what matches, and does nothing the second time.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up dgx-a100-40
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  mixed:
    - devices: [0, 1, 2, 3]
      mig-enabled: false
    - devices: [4, 5]
      mig-enabled: true
      mig-devices: {1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1}
  after:
    - devices: [4]
      mig-enabled: true
      mig-devices: {1g.5gb: 2, 2g.10gb: 1, 1c.3g.20gb: 3}
YAML
run 0 on_node partita mig apply -f "$work/mig.yaml" -c mixed
shows "plan: 20 steps on 2 GPUs; with a GPU reset" "applied"
complains "GPU 4: create GPU instance 3g.20gb at slice 4"
run 0 on_node partita mig assert -f "$work/mig.yaml" -c mixed
run 0 on_node partita mig apply -f "$work/mig.yaml" -c mixed
shows "plan: nothing to do" "applied"
silent err

# Only the compute instance of the 3g changes: every GPU instance stays.
run 0 on_node partita mig apply -f "$work/mig.yaml" -c after -o json
shows '"kind": "MigResult"' '"applied": true'
complains "GPU 4: destroy compute instance 0 of 3g.20gb at slice 4"
! grep -q "GPU instance" "$work/err" || fail "an instance that matches was touched"
run 0 on_node partita mig assert -f "$work/mig.yaml" -c after
run 0 on_node partita mig assert --gpu 5 --want 1g.5gb:2,2g.10gb,3g.20gb
