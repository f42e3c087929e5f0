#!/usr/bin/env bash
# The agent's unit under systemd: it starts after MIG is back, is active when it is ready, says what it
# does, reloads, refuses a bad configuration with its place and goes on, and stops cleanly.
source "$(dirname "$0")/common.sh"

up h200-vm
mkdir -p "$disk/units/multi-user.target.wants" "$disk/units/partita-agent.service.d"
ln -s ../partita-agent.service "$disk/units/multi-user.target.wants/"
ln -s ../client.service "$disk/units/multi-user.target.wants/"
config=$disk/etc/agent.yaml
printf 'version: partita/v1\nlisten: ""\n' >"$config"
unit partita-agent.service.d/simulated.conf <<UNIT
[Service]
ExecStart=
ExecStart=$programs/partita agent -f $config
ExecReload=
ExecReload=$programs/partita config reload
Environment=PARTITA_STATE_DIR=$disk/state
StateDirectory=
StandardOutput=append:$disk/log
StandardError=append:$disk/log
UNIT
cat >"$disk/look" <<LOOK
#!/bin/sh
agent() { echo "agent is \$(systemctl is-active partita-agent), \$(systemctl show -p StatusText partita-agent)"; }
agent
systemctl reload partita-agent && echo "a good configuration is taken"
echo 'colour: red' >>$config
systemctl reload partita-agent || echo "a bad configuration is refused"
agent
systemctl restart partita-agent && echo "restarted with the bad file"
agent
systemctl stop partita-agent
echo "stopped: \$(systemctl show -p Result partita-agent)"
LOOK
chmod +x "$disk/look"
unit client.service <<UNIT
[Unit]
DefaultDependencies=no
After=partita-agent.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c '$disk/look >>$disk/log 2>&1'
UNIT
boot
shows "agent is active, StatusText=running" "in force; nothing changed" "a good configuration is taken" \
  "agent.yaml:3:1: unknown key \"colour\"" "a bad configuration is refused" "restarted with the bad file" \
  "the last good one is in force" "stopped: Result=success"
[ "$(grep -c 'agent is active, StatusText=running' "$disk/log")" = 3 ] || fail "the agent did not go on"
line() { grep -n -m1 -- "$1" "$disk/log" | cut -d: -f1; }
[ "$(line 'nothing was applied before')" -lt "$(line 'agent starting')" ] || fail "the agent started before MIG was back"
