#!/usr/bin/env bash
# A host with nothing wrong: said so, for people and by the published schema.
source "$(dirname "$0")/doctor_common.sh"

run 0 doctor
silent err
shows "ok       1 NVIDIA GPU on the PCI bus" "ok       the kernel module nvidia" "device nodes, as the driver has them" \
  "ok       the driver's library is" "nvidia.yaml has 1 device of nvidia.com/gpu, CDI 0.5.0" \
  "ok       /usr/local/bin/partita-hook runs as a hook and is root's alone" "0 wrong, 0 to know of"
run 0 doctor -o json
shows '"apiVersion": "partita.dev/doctor/v1"' '"healthy": true'
by_schema doctor-v1 "$work/out"
