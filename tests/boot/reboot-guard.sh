#!/usr/bin/env bash
# Where a GPU cannot be reset only a reboot helps: never without leave, and at most once. A unit that
# has asked for it has done its work: it is not a failed one.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
smi=$PARTITA_SIM_DIR/$node/usr/bin/nvidia-smi
rm "$smi"
printf '#!/bin/sh\necho "GPU reset is not supported here"\nexit 3\n' >"$smi"
chmod +x "$smi"
cat >"$disk/etc/config-default.yaml" <<'YAML'
version: v1
mig-configs:
  slices:
    - devices: [0]
      mig-enabled: true
      mig-devices: {1g.5gb: 7}
YAML
select_slices() { # select_slices [MORE]
  mkdir -p "$disk/units/partita-mig.service.d"
  unit partita-mig.service.d/select.conf <<UNIT
[Service]
Environment=MIG_PARTED_SELECTED_CONFIG=slices $*
UNIT
}
select_slices
boot
shows "a reboot is required, and --reboot or WITH_REBOOT=true allows one"
[ ! -e "$disk/state/mig-reboot-attempted" ] || fail "it would have rebooted without leave"
shows "partita-mig is failed" "end"

select_slices WITH_REBOOT=true
boot
shows "rebooting once" "partita-mig is inactive"
[ "$(grep -c 'reboot.target is reached' "$disk/log")" = 1 ] || fail "the machine did not reboot"
! grep -q "^end" "$disk/log" || fail "the boot went on beside the reboot"
[ -e "$disk/state/mig-reboot-attempted" ] || fail "nothing keeps it from rebooting for ever"
boot
shows "the reboot that was tried did not help" "mig-reboot-attempted"
shows "partita-mig is failed" "end"
! grep -q "reboot.target is reached" "$disk/log" || fail "it reboots for ever"

# The reboot does help: the mode that waited is in force. The power goes before the layout is made,
# and the boot after that needs neither the guard nor another reboot.
reboot
cut_power nvmlDeviceCreateGpuInstanceWithPlacement 3
reboot
boot
shows '"slices" is in force' "end"
! grep -q "reboot.target is reached" "$disk/log" || fail "it rebooted again"
[ ! -e "$disk/state/mig-reboot-attempted" ] || fail "the guard stayed"
run 0 on_node partita mig assert -f "$disk/etc/config-default.yaml" -c slices
