#!/usr/bin/env bash
# it takes the place of NVIDIA's nvidia-mig-manager with its drop-in, and gives it back
source "$(dirname "$0")/../common.sh"
package_nvidia
dropin=/etc/systemd/system/nvidia-mig-manager.service.d/override.conf
apt install /packages/nvidia-mig-manager.deb
run 0 systemctl --root=/ enable nvidia-mig-manager.service

install_package
run 0 readlink /usr/bin/nvidia-mig-parted
is partita
gone /lib/systemd/system/nvidia-mig-manager.service
there $dropin
[ "$(enabled partita-mig.service)" = enabled ] || fail "the unit is $(enabled partita-mig.service)"
run 0 dpkg-query -W -f '${db:Status-Abbrev}' nvidia-mig-manager
is "rc "

apt install /packages/nvidia-mig-manager.deb
run 0 nvidia-mig-parted
is "the other one"
gone /usr/bin/partita /etc/systemd/system/nvidia-mig-manager.service
there $dropin /lib/systemd/system/nvidia-mig-manager.service
run 0 dpkg-query -W -f '${db:Status-Abbrev}' partita
is "rc "
apt purge partita
there $dropin /usr/bin/nvidia-mig-parted /lib/systemd/system/nvidia-gpu-reset.target
