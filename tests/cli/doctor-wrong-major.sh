#!/usr/bin/env bash
# A node that was left over from another driver load leads nowhere; one that is missing, too.
source "$(dirname "$0")/doctor_common.sh"

rm "$host/dev/nvidia0" "$host/dev/nvidiactl"
mknod -m 0666 "$host/dev/nvidia0" c 511 0
run 1 doctor
shows "BAD      /dev/nvidia0 has major 511, but the driver registered 195" \
  "$ rm /dev/nvidia0 && nvidia-modprobe -u -c 0" "BAD      device nodes are missing: /dev/nvidiactl" \
  "$ nvidia-modprobe -u -c 0" "names what this host has not: /dev/nvidia0 (511:0, not 195:0), /dev/nvidiactl"
