#!/usr/bin/env bash
# A driver installed under a root of its own is found there, and by the path of its library.
source "$(dirname "$0")/common.sh"

up h200-vm
library=/run/partita-sim/usr/lib64/libnvidia-ml.so.1
run 6 on_node env -u LD_LIBRARY_PATH partita status
shows "no driver" "libnvidia-ml.so.1"
run 0 on_node env -u LD_LIBRARY_PATH partita status --driver-root /run/partita-sim
shows "NVIDIA H200" "library $library"
run 0 on_node env -u LD_LIBRARY_PATH partita status --library "$library"
shows "NVIDIA H200"
run 0 on_node env -u LD_LIBRARY_PATH PARTITA_DRIVER_ROOT=/run/partita-sim partita status
shows "NVIDIA H200"
