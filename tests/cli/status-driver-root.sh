#!/usr/bin/env bash
# A driver installed under a root of its own is found there, and by the path of its library.
source "$(dirname "$0")/common.sh"
mountpoint -q / || { echo "SKIPPED: / is no mount point, and unshare --mount needs one" >&2; exit 77; }

up h200-vm
# Without the library at the usual places, as where the driver is in a container.
on_node_without() {
  on_node unshare --mount sh -c 'umount -l "$(dirname "$(realpath /lib/*/libnvidia-ml.so.1)")" && umount /etc/ld.so.cache && exec "$@"' - "$@"
}
library=/run/partita-sim/usr/lib64/libnvidia-ml.so.1
run 6 on_node_without partita status
shows "no driver" "libnvidia-ml.so.1"
run 0 on_node_without partita status --driver-root /run/partita-sim
shows "NVIDIA H200" "library $library"
run 0 on_node_without partita status --library "$library"
shows "NVIDIA H200"
run 0 on_node_without env PARTITA_DRIVER_ROOT=/run/partita-sim partita status
shows "NVIDIA H200"
