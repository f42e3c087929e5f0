#!/usr/bin/env bash
# it is installed and purged where there is no systemd, as in an image
source "$(dirname "$0")/../common.sh"
apt purge --allow-remove-essential systemd
gone /usr/bin/systemctl
install_package
run 0 partita version
apt purge partita
gone /usr/bin/partita
