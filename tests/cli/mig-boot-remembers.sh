#!/usr/bin/env bash
# What a boot made because it was selected is remembered, as what `apply` made is: when nothing is
# selected any more, the next boot brings it back.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
mkdir "$work/etc"
cat >"$work/etc/config.yaml" <<'YAML'
version: v1
mig-configs:
  ones: [{devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}]
  twos: [{devices: all, mig-enabled: true, mig-devices: {2g.35gb: 3}}]
YAML
boot() { on_node partita mig boot --config-dir "$work/etc" "$@"; }

up h200-vm
for selected in ones twos; do
  run 0 boot --selected-config "$selected"
  complains "\"$selected\" is in force"
done
# What is there already counts as much as what was made.
run 0 boot --selected-config twos
partita-sim reboot --node "$node" >/dev/null
run 0 boot
complains "what was applied last is in force"
run 0 on_node partita mig assert --want 2g.35gb:3
