#!/usr/bin/env bash
# The limits of the unit leave the GPUs open to it. That limits on devices hold here at all is seen
# from a unit that closes them: it finds no GPU.
source "$(dirname "$0")/common.sh"

up h200-vm
run 0 on_node partita mig apply --want 7g.141gb
reboot
boot
shows "enable MIG" "what was applied last is in force"

mkdir -p "$disk/units/partita-mig.service.d"
unit partita-mig.service.d/closed.conf <<'UNIT'
[Service]
DevicePolicy=closed
UNIT
reboot
boot
! grep -q "is in force" "$disk/log" || fail "closed devices were changed"
shows "partita-mig is failed" "end"
