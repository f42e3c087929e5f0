#!/usr/bin/env bash
# A file names the units that hold GPUs: they stop for a change of modes and start after it, and
# the unit never stops itself.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/client.sh"

up h200-vm
run 0 on_node partita mig apply --want 7g.141gb
reboot
gpu_client client
mkdir -p "$disk/units/partita-mig.service.d"
unit partita-mig.service.d/clients.conf <<UNIT
[Service]
Environment=GPU_CLIENTS_FILE=$disk/etc/clients.yaml
UNIT
cat >"$disk/etc/clients.yaml" <<'YAML'
version: v1
systemd-services: [client.service, nvidia-mig-manager.service]
YAML
boot
shows "client stops" "starting client.service" "what was applied last is in force"
[ "$(grep -c 'client starts' "$disk/log")" = 2 ] || fail "the client was not started again"

# Modes are right: nobody is disturbed.
boot
! grep -q "client stops" "$disk/log" || fail "a client was stopped for nothing"

reboot
echo "systemd-services: client.service" >"$disk/etc/clients.yaml"
boot
shows "clients.yaml:1:19" "version"
