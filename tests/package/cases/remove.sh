#!/usr/bin/env bash
# a removal takes program and units, keeps configuration and what was applied, and can be taken back
source "$(dirname "$0")/../common.sh"
install_package
echo "version: v1" >$root/etc/nvidia-mig-manager/config.yaml
mkdir $root/var/lib/partita
echo kept >$root/var/lib/partita/mig.json
mkdir -p $root/run/cdi
echo "            path: /usr/bin/partita-hook" >$root/run/cdi/nvidia.yaml
echo "            path: /usr/bin/nvidia-cdi-hook" >$root/run/cdi/management.nvidia.com-gpu.yaml
apt remove partita
gone /run/cdi/nvidia.yaml
there /run/cdi/management.nvidia.com-gpu.yaml
gone /usr/bin/{partita,nvidia-mig-parted,nvidia-device-plugin,gpu-feature-discovery} /lib/systemd/system/{partita-agent.service,partita-mig.service,nvidia-gpu-reset.target} \
  /etc/systemd/system/nvidia-mig-manager.service /etc/systemd/system/multi-user.target.wants/partita-mig.service \
  /usr/share/partita
there /etc/nvidia-mig-manager/config.yaml /var/lib/partita/mig.json

install_package
[ "$(enabled partita-mig.service)" = enabled ] || fail "installed again, the unit is $(enabled partita-mig.service)"
there /etc/systemd/system/nvidia-mig-manager.service
run 0 systemctl --root=/ disable partita-mig.service
apt remove partita
install_package
[ "$(enabled partita-mig.service)" = disabled ] || fail "a disabled unit, installed again, is $(enabled partita-mig.service)"
