#!/usr/bin/env bash
# A unit that was stopped for a change and then cannot start keeps nothing else from it: the others
# start, MIG is brought back now and in a later run, and the log says which one it was.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/client.sh"

up h200-vm
run 0 on_node partita mig apply --want 7g.141gb
reboot
gpu_client client
gpu_client other
mkdir -p "$disk/units/partita-mig.service.d"
unit partita-mig.service.d/clients.conf <<UNIT
[Service]
Environment=GPU_CLIENTS_FILE=$disk/etc/clients.yaml
UNIT
printf 'version: v1\nsystemd-services: [client.service, other.service]\n' >"$disk/etc/clients.yaml"
# What can happen to a unit while it is stopped: somebody takes it away.
cat >"$disk/etc/hooks.yaml" <<'YAML'
version: v1
hooks:
  pre-apply-mode:
    - {command: /bin/sh, args: ["-c", "rm /run/units/client.service && systemctl daemon-reload"], envs: {PATH: /usr/bin:/bin}}
YAML
# A second run in the same boot. The journal goes to a file of its own: the other unit is being started
# meanwhile, and its line in the log can come between any two.
unit kubelet.service <<UNIT
[Unit]
DefaultDependencies=no
After=partita-mig.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'cp /run/partita/mig-stopped-units $disk/journal; echo again; exec $programs/partita mig boot --config-dir $disk/none'
Environment=PARTITA_DRIVER_ROOT=/run/partita-sim PARTITA_STATE_DIR=$disk/state
StandardOutput=append:$disk/log
StandardError=append:$disk/log
UNIT
ln -s ../kubelet.service "$disk/units/multi-user.target.wants/"
boot
shows "client stops" "other stops" "starting other.service" "systemctl --no-block start client.service" \
  "what was applied last is in force; 1 of the units that were stopped for it cannot start"
[ "$(grep -c 'other starts' "$disk/log")" = 2 ] || fail "the other unit was not started again"
[ "$(cat "$disk/journal")" = client.service ] || fail "the journal names something else"
[ "$(sed -n '/^again$/,$p' "$disk/log" | grep -c 'is in force')" = 1 ] || fail "the next run did nothing"
run 0 on_node partita mig assert --want 7g.141gb
