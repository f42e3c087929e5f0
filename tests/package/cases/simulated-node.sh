#!/usr/bin/env bash
# on a simulated node it draws, changes MIG, and brings it back after a reboot
source "$(dirname "$0")/../common.sh"
install_package
simulate h200-vm
run 0 "${on_node[@]}" partita status
shows "NVIDIA H200"
run 0 "${on_node[@]}" partita mig apply --yes --want 1g.18gb:2,3g.71gb
run 0 "${on_node[@]}" nvidia-mig-parted export
shows "1g.18gb: 2" "3g.71gb: 1"
run 0 "${on_node[@]}" test -s /var/lib/partita/mig.json
run 0 /simulator/bin/partita-sim reboot --node node
run 0 "${on_node[@]}" nvidia-mig-parted export
shows "mig-enabled: false"
run 0 "${on_node[@]}" partita mig boot
run 0 "${on_node[@]}" nvidia-mig-parted export
shows "1g.18gb: 2" "3g.71gb: 1"
run 0 /simulator/bin/partita-sim down --node node
