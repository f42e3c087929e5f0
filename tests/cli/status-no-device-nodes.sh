#!/usr/bin/env bash
# A driver that is installed but cannot be reached: exit status 6, what the driver said, and the GPUs
# that its files and the bus know.
source "$(dirname "$0")/common.sh"

up h200-vm
root=$PARTITA_SIM_DIR/$node
run 6 partita status --driver-root "$root" --host-root "$root"
shows "no driver" "Driver Not Loaded (NVML 9)" "NVIDIA H200" "0000:00:06.0"
run 6 partita status --driver-root "$root" --host-root "$root" -o json
shows '"nvmlCode": 9'
python3 "$source_root/tests/cli/check_status_document.py" "$work/out"
