#!/usr/bin/env bash
# A configuration file that changes while it is applied: what was read at the start is applied, whole.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }
config() {
  printf 'version: v1\nmig-configs:\n  slices:\n    - {devices: all, mig-enabled: true, mig-devices: {%s}}\n' "$1"
}

up h200-vm
config "1g.18gb: 7" >"$work/mig.yaml"
config "3g.71gb: 2" >"$work/later.yaml"
cat >"$work/hooks.yaml" <<YAML
version: v1
hooks:
  pre-apply-config:
    - command: /bin/cp
      args: ["$work/later.yaml", "$work/mig.yaml"]
YAML
run 0 parted apply -f "$work/mig.yaml" -c slices -k "$work/hooks.yaml"
cmp "$work/mig.yaml" "$work/later.yaml" || fail "the file did not change meanwhile"
config "1g.18gb: 7" >"$work/first.yaml"
run 0 parted assert -f "$work/first.yaml" -c slices

# Torn in the middle, it does not matter either.
config "3g.71gb: 2" >"$work/mig.yaml"
printf 'version: v1\nmig-con' >"$work/later.yaml"
run 0 parted apply -f "$work/mig.yaml" -c slices -k "$work/hooks.yaml"
config "3g.71gb: 2" >"$work/second.yaml"
run 0 parted assert -f "$work/second.yaml" -c slices
