#!/usr/bin/env bash
# Without a driver the boot goes on: the unit says so, succeeds, and forgets nothing. Modes that are
# selected are changed through PCI where the GPU allows it.
source "$(dirname "$0")/common.sh"

up h200-vm
run 0 on_node partita mig apply --want 7g.141gb
reboot
partita-sim driver unload --node "$node" >/dev/null
boot
shows "no driver is loaded: nothing changed" "end"
partita-sim driver load --node "$node" >/dev/null
boot
shows "what was applied last is in force"
run 0 on_node partita mig assert --want 7g.141gb

up dgx-a100-40 ampere
partita-sim driver unload --node "$node" --force >/dev/null
cat >"$disk/etc/config.yaml" <<'YAML'
version: v1
mig-configs:
  one:
    - devices: [0]
      mig-enabled: true
      mig-devices: {7g.40gb: 1}
YAML
mkdir -p "$disk/units/partita-mig.service.d"
unit partita-mig.service.d/select.conf <<'UNIT'
[Service]
Environment=MIG_PARTED_SELECTED_CONFIG=one
UNIT
boot
shows "the modes are in force, devices come with it" "end"
partita-sim driver load --node "$node" >/dev/null
run 0 on_node partita mig assert -f "$disk/etc/config.yaml" -c one --mode-only
boot
shows '"one" is in force'
! grep -q "enable MIG" "$disk/log" || fail "the mode was there already"
