#!/usr/bin/env bash
# The layout comes back after a reboot: with the mode on Hopper, which loses it, and without a change
# of modes on Ampere. The first boot of a machine changes nothing.
source "$(dirname "$0")/common.sh"

up h200-vm
boot
shows "nothing is selected and nothing was applied before" "end"
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
run 0 on_node partita mig export
cp "$work/out" "$work/wanted"
reboot
run 3 on_node partita mig assert --want 3g.71gb,1g.18gb:2
boot
shows "enable MIG" "what was applied last is in force"
run 0 on_node partita mig export
cmp "$work/out" "$work/wanted" || fail "another layout came back"
boot
! grep -q "create" "$disk/log" || fail "a boot without a loss changed something"

up dgx-a100-40 ampere
run 0 on_node partita mig apply --gpu 3 --want 3g.20gb,1c.3g.20gb:3 --yes
reboot
boot
shows "GPU 3: create GPU instance 3g.20gb" "what was applied last is in force"
! grep -q "enable MIG" "$disk/log" || fail "the mode was there already"
run 0 on_node partita mig assert --gpu 3 --want 3g.20gb,1c.3g.20gb:3
