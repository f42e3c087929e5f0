#!/usr/bin/env bash
# the boot unit is enabled under both names, the agent's is not, and systemd has nothing to say about them
source "$(dirname "$0")/../common.sh"
install_package
for unit in partita-mig.service nvidia-mig-manager.service; do
  [ "$(enabled $unit)" != disabled ] || fail "$unit is disabled"
done
[ "$(enabled partita-mig.service)" = enabled ] || fail "the unit is $(enabled partita-mig.service)"
[ "$(enabled nvidia-mig-manager.service)" = alias ] || fail "the reference's name is $(enabled nvidia-mig-manager.service)"
there /etc/systemd/system/{multi-user,nvidia-gpu-reset}.target.wants/partita-mig.service
[ "$(enabled partita-agent.service)" = disabled ] || fail "the agent is $(enabled partita-agent.service)"
run 0 systemd-analyze verify --recursive-errors=no partita-agent.service partita-mig.service nvidia-gpu-reset.target
[ ! -s $work/err ] || fail "systemd has something to say"
