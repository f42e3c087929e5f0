#!/usr/bin/env bash
# Under the name nvidia-mig-parted: the reference's flags, environment, result lines and statuses.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }

up dgx-a100-40
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  all-balanced:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1}
YAML
run 0 parted assert -f "$work/mig.yaml" -c all-disabled
grep -qx "Selected MIG configuration currently applied" "$work/out" || fail "another result line"
run 0 parted assert --valid-config -f "$work/mig.yaml" -c all-balanced
shows "Selected MIG configuration is valid"
run 1 parted assert -f "$work/mig.yaml" -c all-balanced
complains 'level=fatal msg="Assertion failure: selected configuration not currently applied"'
run 0 parted apply -f "$work/mig.yaml" -c all-balanced
grep -qx "MIG configuration applied successfully" "$work/out" || fail "another result line"
run 0 parted assert -m -f "$work/mig.yaml" -c all-balanced
shows "Selected MIG mode settings from configuration currently applied"
run 0 on_node env MIG_PARTED_CONFIG_FILE="$work/mig.yaml" MIG_PARTED_SELECTED_CONFIG=all-balanced \
  "$work/nvidia-mig-parted" assert
run 0 parted export -o json -l now
shows '"now"' '"devices": "all"' '"2g.10gb": 1'

run 0 parted checkpoint -f "$work/checkpoint.json"
shows "MIG configuration checkpointed successfully"
run 0 parted apply -f "$work/mig.yaml" -c all-disabled
run 0 parted restore -f "$work/checkpoint.json"
shows "MIG configuration restored successfully"
run 0 parted assert -f "$work/mig.yaml" -c all-balanced
run 0 parted generate-config -f "$work/generated.yaml"
silent out
run 0 parted assert -a -f "$work/generated.yaml" -c all-7g.40gb
