#!/usr/bin/env bash
# Without a driver the exit status is 6, and the first thing to do stands first.
source "$(dirname "$0")/common.sh"

mkdir -p "$work/host/etc"
run 6 partita doctor --host-root "$work/host" --driver-root "$work/host" --library "$work/host/none.so"
shows "warning  no NVIDIA GPU is on the PCI bus" "BAD      the kernel module nvidia is not loaded" "$ modprobe nvidia" \
  "cannot load the NVIDIA driver's library" "no CDI file has devices of nvidia.com/gpu" "no docker, containerd or podman"
run 6 partita doctor --host-root "$work/host" --driver-root "$work/host" --library "$work/host/none.so" -o json
shows '"healthy": false' '"mend": "modprobe nvidia"'
