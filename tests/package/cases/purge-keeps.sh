#!/usr/bin/env bash
# a purge leaves what a person wrote: configurations, hooks and the drop-in of the unit
source "$(dirname "$0")/../common.sh"
install_package
mkdir -p $root/etc/systemd/system/nvidia-mig-manager.service.d
kept=(/etc/nvidia-mig-manager/config.yaml /etc/nvidia-mig-manager/hooks.yaml
  /etc/systemd/system/nvidia-mig-manager.service.d/override.conf)
for path in "${kept[@]}"; do echo "# mine" >"$root$path"; done
apt purge partita
there "${kept[@]}"
gone /var/lib/partita /etc/systemd/system/nvidia-mig-manager.service
