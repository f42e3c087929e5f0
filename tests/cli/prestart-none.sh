#!/usr/bin/env bash
# "none": the driver's libraries and programs, the control node, and no GPU; from the root that is configured.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
up dgx-a100-40

container NVIDIA_VISIBLE_DEVICES=none NVIDIA_DRIVER_CAPABILITIES=utility
run 0 prestart_then '
inside find dev -name "nvidia*" | sort
inside find usr -name "libnvidia-ml*" -o -name "libcuda*" -o -name nvidia-smi | sort
inside ls proc/driver/nvidia/gpus | wc -l
inside cat proc/driver/nvidia/params'
shows dev/nvidiactl usr/bin/nvidia-smi libnvidia-ml.so.1 "ModifyDeviceFiles: 0"
if grep -E 'dev/nvidia([0-9]|-uvm)|libcuda' "$work/out"; then fail "more than was asked for"; fi
grep -qx 0 "$work/out" || fail "GPUs are in /proc"

# The driver of a driver container.
printf '[nvidia-container-cli]\nno-cgroups = true\nroot = "/run/partita-sim"\n' >"$work/config.toml"
run 0 prestart_then 'inside grep usr/bin/nvidia-smi /proc/self/mountinfo; inside ls dev'
shows nvidiactl /usr/bin/nvidia-smi
sed -i 's|/run/partita-sim|/nowhere|' "$work/config.toml"
run 1 prestart
complains /nowhere
