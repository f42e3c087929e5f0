#!/usr/bin/env bash
# A GPU instance without compute instances, as a killed change leaves one, is not what was wanted:
# it is told of, and every way of applying takes it away.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }

up h200-vm
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  small: [{devices: all, mig-enabled: true, mig-devices: {1g.18gb: 2}}]
YAML
small=(-f "$work/mig.yaml" -c small)
run 0 on_node partita mig apply "${small[@]}"
leave() {
  on_node nvidia-smi mig -cgi 9 >/dev/null
  run 3 on_node partita mig assert "${small[@]}"
}
gone() {
  run 0 on_node partita mig assert "${small[@]}"
  run 0 on_node partita mig show -o json
  ! grep -q '"profile": "3g.71gb"' "$work/out" || fail "it was left"
}

leave
shows "not applied" "- 1 x 3g.71gb, unclaimed: it has no compute instance"
run 3 on_node partita mig diff "${small[@]}"
shows "unclaimed"
run 1 parted assert "${small[@]}"
run 0 on_node partita mig export
complains "GPU 0: 3g.71gb at slice" "is unclaimed"
run 0 on_node partita mig apply "${small[@]}" --yes
gone
leave
run 0 parted apply "${small[@]}"
gone
leave
run 0 on_node partita mig boot
gone
