#!/usr/bin/env bash
# The unit alone is killed in the middle of a boot, after clients were stopped and the mode was changed:
# the next start of it converges and starts them; so does the next boot.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/client.sh"

up h200-vm
run 0 on_node partita mig apply --want 1g.18gb:7
reboot
gpu_client kubelet
mkdir -p "$disk/units/partita-mig.service.d" "$disk/etc"
# The hook before the layout kills its parent, the first time.
cat >"$disk/etc/hooks.yaml" <<YAML
version: v1
hooks:
  pre-apply-config:
    - command: /bin/sh
      args: ["-c", "[ -e $disk/cut ] || { : >$disk/cut; echo cut >>$disk/log; kill -9 \$PPID; }"]
YAML
unit partita-mig.service.d/again.conf <<UNIT
[Service]
Restart=on-failure
RestartSec=0
UNIT
boot
shows "cut" "kubelet stops" "starting kubelet.service" "what was applied last is in force"
[ "$(grep -c 'kubelet starts' "$disk/log")" = 2 ] || fail "kubelet was not started again"
run 0 on_node partita mig assert --want 1g.18gb:7

# The same without a second start: the next boot converges.
rm "$disk/cut" "$disk/units/partita-mig.service.d/again.conf"
reboot
boot
shows "cut"
! grep -q "is in force" "$disk/log" || fail "the unit was not killed"
reboot
boot
shows "what was applied last is in force"
run 0 on_node partita mig assert --want 1g.18gb:7
