#!/usr/bin/env bash
# The unit alone is killed in the middle of a boot, after clients were stopped and the mode was changed:
# systemd starts it again, it converges
# and starts them; so does the next boot.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/client.sh"

up h200-vm
run 0 on_node partita mig apply --want 1g.18gb:7
reboot
gpu_client kubelet
mkdir -p "$disk/etc"
# The hook before the layout kills its parent: once, or as long as there is a file that says so.
cat >"$disk/etc/hooks.yaml" <<YAML
version: v1
hooks:
  pre-apply-config:
    - command: /bin/sh
      args: ["-c", "[ -e $disk/cut ] && [ ! -e $disk/always ] || { : >$disk/cut; echo cut >>$disk/log; kill -9 \$PPID; }"]
YAML
# As systemd read it: a reset of every GPU, one after another, may outlast any limit on a start.
mkdir "$disk/units/end.service.d"
unit end.service.d/limit.conf <<UNIT
[Service]
ExecStart=/bin/sh -c 'echo limited to \$\$(systemctl show --property TimeoutStartUSec --value partita-mig.service) >>$disk/log'
UNIT
boot
shows "limited to infinity" "cut" "kubelet stops" "starting kubelet.service" "what was applied last is in force"
[ "$(grep -c 'kubelet starts' "$disk/log")" = 2 ] || fail "kubelet was not started again"
run 0 on_node partita mig assert --want 1g.18gb:7

# Killed every time: it is not tried for ever, and the next boot converges.
: >"$disk/always"
reboot
boot
shows "cut" "partita-mig is failed" "end"
! grep -q "is in force" "$disk/log" || fail "the unit was not killed"
rm "$disk/always"
reboot
boot
shows "what was applied last is in force"
run 0 on_node partita mig assert --want 1g.18gb:7
