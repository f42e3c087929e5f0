#!/usr/bin/env bash
# The power goes in the middle of a change, at several driver calls: process 1 is killed with all that
# runs. The next boot brings the layout back, clients of the GPUs run, and nothing asks for a reboot.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/client.sh"

up h200-vm
run 0 on_node partita mig apply --want 1g.18gb:7
gpu_client kubelet
for point in "nvmlDeviceSetMigMode" "nvmlDeviceCreateGpuInstanceWithPlacement" \
  "nvmlDeviceCreateGpuInstanceWithPlacement 4" "nvmlGpuInstanceCreateComputeInstance 6"; do
  reboot
  # shellcheck disable=SC2086
  cut_power $point
  grep -q "kubelet stops" "$disk/log" || fail "$point: the mode was not being changed"
  ! grep -q "is in force" "$disk/log" || fail "$point: the power was cut too late"
  run 3 on_node partita mig assert --want 1g.18gb:7
  reboot
  boot
  shows "what was applied last is in force" "partita-mig is inactive" "kubelet is active" "end"
  run 0 on_node partita mig assert --want 1g.18gb:7
  [ ! -e "$disk/state/mig-reboot-attempted" ] || fail "$point: a guard was left"
done
