#!/usr/bin/env bash
# Units that use GPUs start after MIG is back: those ordered after nvidia-gpu-reset.target, and those
# ordered after the reference's unit, whose name ours answers to. The environment of that unit's
# override.conf selects the configuration.
source "$(dirname "$0")/common.sh"

up h200-vm
client() { # client NAME AFTER: writes what it finds
  unit "$1.service" <<UNIT
[Unit]
DefaultDependencies=no
After=$2
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo $1 finds \$(nvidia-smi -L | grep -c MIG) >>$disk/log'
UNIT
  mkdir -p "$disk/units/multi-user.target.wants"
  ln -s "../$1.service" "$disk/units/multi-user.target.wants/"
}
client client nvidia-gpu-reset.target
client other nvidia-mig-manager.service
mkdir "$disk/units/nvidia-mig-manager.service.d"
unit nvidia-mig-manager.service.d/override.conf <<'UNIT'
[Service]
Environment="MIG_PARTED_SELECTED_CONFIG=quarters"
UNIT
cat >"$disk/etc/config.yaml" <<'YAML'
version: v1
mig-configs:
  quarters:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.35gb: 4}
YAML
cat >"$disk/etc/hooks.yaml" <<YAML
version: v1
hooks:
  apply-start:
    - command: /bin/sh
      args: ["-c", "echo hook \$MIG_PARTED_SELECTED_CONFIG >>$disk/log"]
YAML
boot
shows "hook quarters" '"quarters" is in force' "client finds 4" "other finds 4"
line() { grep -n -m1 -- "$1" "$disk/log" | cut -d: -f1; }
[ "$(line 'is in force')" -lt "$(line 'client finds')" ] || fail "a client started before MIG was back"
[ "$(line 'is in force')" -lt "$(line 'other finds')" ] || fail "a client started before MIG was back"
