#!/usr/bin/env bash
# The power goes while Ampere GPUs change modes through a reset: before it, in the tool that does it,
# and when the first GPU has its layout. The next boot goes on from there.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/client.sh"

node=ampere
cat >"$disk/etc/config.yaml" <<'YAML'
version: v1
mig-configs:
  thirds:
    - devices: [0, 1]
      mig-enabled: true
      mig-devices: {2g.10gb: 3}
    - devices: [2]
      mig-enabled: false
YAML
gpu_client kubelet
mkdir -p "$disk/units/partita-mig.service.d"
unit partita-mig.service.d/select.conf <<'UNIT'
[Service]
Environment=MIG_PARTED_SELECTED_CONFIG=thirds
UNIT
for point in "nvmlDeviceSetMigMode 1" "nvmlInit_v2 2" "nvmlDeviceCreateGpuInstanceWithPlacement 3"; do
  partita-sim up --file "$source_root/tests/integration/nodes/three-a100.yaml" --node ampere >/dev/null
  on_exit+=("partita-sim down --node ampere --force >/dev/null 2>&1")
  # shellcheck disable=SC2086
  cut_power $point
  ! grep -q "is in force" "$disk/log" || fail "$point: the power was cut too late"
  run 3 on_node partita mig assert -f "$disk/etc/config.yaml" -c thirds
  reboot
  boot
  shows '"thirds" is in force' "kubelet is active" "end"
  run 0 on_node partita mig assert -f "$disk/etc/config.yaml" -c thirds
  [ ! -e "$disk/state/mig-reboot-attempted" ] || fail "$point: a guard was left"
  partita-sim down --node ampere --force >/dev/null
done
