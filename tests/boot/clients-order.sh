#!/usr/bin/env bash
# Units that hold GPUs stop from the last of the list to the first, before the modes change, and start
# in its order; one that does not exist is left out. Killed while it stops them, the next run starts
# them; one that cannot be stopped ends the change before anything was done, and the others run again.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/client.sh"

up h200-vm
run 0 on_node partita mig apply --want 7g.141gb
for name in client kubelet; do gpu_client $name; done
mkdir -p "$disk/units/partita-mig.service.d"
unit partita-mig.service.d/clients.conf <<UNIT
[Service]
Environment=GPU_CLIENTS_FILE=$disk/etc/clients.yaml
UNIT
echo 'systemd-services: [client.service, kubelet.service, absent.service]' >"$disk/etc/clients.yaml"
echo 'version: v1' >>"$disk/etc/clients.yaml"
in_order() { # in_order TEXT…: each is in the log after the one before
  local last=0 now
  for text in "$@"; do
    now=$(tail -n +$((last + 1)) "$disk/log" | grep -n -m1 -F -- "$text" | cut -d: -f1) || true
    [ -n "$now" ] || fail "after line $last there is no: $text"
    last=$((last + now))
  done
}
reboot
boot
in_order "kubelet stops" "client stops" "enable MIG" "starting client.service, kubelet.service"
in_order "is in force" "kubelet is active" "client is active" "end"
! grep -q absent "$disk/log" || fail "a unit that does not exist was stopped or started"

# Killed when the first of them has just stopped: the list was written before.
unit kubelet.service <<UNIT
[Unit]
DefaultDependencies=no
Before=partita-mig.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo kubelet starts >>$disk/log'
ExecStop=/bin/sh -c '[ -e $disk/cut ] || { touch $disk/cut; echo cut >>$disk/log; kill -9 \$\$(systemctl show -P MainPID partita-mig.service); }'
UNIT
unit partita-mig.service.d/again.conf <<'UNIT'
[Service]
Restart=on-failure
RestartSec=0
UNIT
reboot
boot
in_order "cut" "starting client.service, kubelet.service" "enable MIG" "is in force"
shows "kubelet is active" "client is active" "end"
rm "$disk/units/partita-mig.service.d/again.conf"

# The client refuses to stop.
sed -i 's/^\[Unit\]$/[Unit]\nRefuseManualStop=yes/' "$disk/units/client.service"
reboot
boot
in_order "starting client.service, kubelet.service" "systemctl stop client.service" "end"
shows "partita-mig is failed" "kubelet is active" "client is active" "configured to refuse manual start/stop"
! grep -q "enable MIG" "$disk/log" || fail "the mode was changed under a running client"
run 3 on_node partita mig assert --want 7g.141gb
