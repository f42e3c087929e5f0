#!/usr/bin/env bash
# Every configuration of NVIDIA's user documents on a DGX A100, by both names of the program.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"

up dgx-a100-40
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  all-disabled: [{devices: all, mig-enabled: false}]
  all-1g.5gb: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]
  all-2g.10gb: [{devices: all, mig-enabled: true, mig-devices: {2g.10gb: 3}}]
  all-3g.20gb: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 2}}]
  all-balanced: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1}}]
  half:
    - {devices: [0, 1, 2, 3], mig-enabled: false}
    - {devices: [4, 5, 6, 7], mig-enabled: true, mig-devices: {1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1}}
YAML
# expect CONFIG PROFILE COUNT: so many devices, as nvidia-smi lists them in $work/out.
expect() {
  [ "$(grep -c "MIG $2 " "$work/out")" = "$3" ] || fail "$1: not $3 devices of $2"
}
apply_own() { run 0 on_node partita mig apply -f "$work/mig.yaml" -c "$1"; }
apply_other() { run 0 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c "$1"; }
for apply in apply_own apply_other; do
  while read -r name ones twos threes; do
    $apply "$name"
    run 0 on_node nvidia-smi -L
    expect "$name" 1g.5gb "$ones"
    expect "$name" 2g.10gb "$twos"
    expect "$name" 3g.20gb "$threes"
    run 0 on_node "$work/nvidia-mig-parted" assert -f "$work/mig.yaml" -c "$name"
  done <<'LIST'
all-1g.5gb 56 0 0
all-2g.10gb 0 24 0
all-3g.20gb 0 0 16
all-balanced 16 8 8
half 8 4 4
all-disabled 0 0 0
LIST
done
