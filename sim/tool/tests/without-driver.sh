#!/usr/bin/env bash
# Without a driver the GPUs answer through resource0 and reset, as hardware would, to any program:
# which chip, the firmware's state, the mode, and a request that the next reset activates.
source "$(dirname "$0")/common.sh"

# word FILE OFFSET: 32 bits.
word() { od -An -tx4 -j "$2" -N 4 "$1" | xargs; }
# until_up FILE: whoever resets a GPU waits for its firmware.
until_up() { for _ in $(seq 1000); do [ "$(word "$1" 0x118234)" = 000003ff ] && return; done; fail "firmware is down"; }
# Processes of partita-sim that this script has started.
servers() {
  for place in $({ grep -lsF "$PARTITA_SIM_DIR" /proc/[0-9]*/environ || true; }); do
    [ "$(cat "${place%environ}comm" 2>/dev/null)" != partita-sim ] || echo "$place"
  done
}

run 0 partita-sim up dgx-a100-40 --node a
device=$PARTITA_SIM_DIR/a/sys/bus/pci/devices/0000:0f:00.0
[ ! -e "$device/resource0" ] || fail "registers beside a driver"
run 0 partita-sim driver unload --node a
[ "$(stat -Lc '%s %a' "$device/resource0")" = "16777216 600" ] || fail "wrong size or mode"
[ "$(word "$device/resource0" 0)" = 170000a1 ] || fail "wrong chip"
[ "$(word "$device/resource0" 0x1404)" = 00000000 ] || fail "wrong mode"
until_up "$device/resource0"
[ "$(servers | wc -l)" = 1 ] || fail "not one process answers"

# A request alone changes nothing; nor does anything but 1 in reset.
printf '\x00\xc0\x00\x00' | dd of="$device/resource0" bs=4 seek=$((0x118F78 / 4)) conv=notrunc status=none
echo 0 >"$device/reset"
until_up "$device/resource0"
[ "$(word "$device/resource0" 0x1404)" = 00000000 ] || fail "a request took effect without a reset"
echo 1 >"$device/reset"
until_up "$device/resource0"
[ "$(word "$device/resource0" 0x1404)" = 00008000 ] || fail "the reset did not activate the request"
[ ! -s "$device/reset" ] || fail "reset keeps what was written"

# The driver finds what was done, and nobody answers beside it.
run 0 partita-sim driver load --node a
[ ! -e "$device/resource0" ] || fail "registers stay"
[ -z "$(servers)" ] || fail "the process that answered stays"
run 0 partita-sim show --node a -o json
[ "$(grep -c '"resets": 1' "$work/out")" = 1 ] || fail "not one GPU was reset"
run 0 partita-sim run --node a -- nvidia-smi --query-gpu=mig.mode.current --format=csv,noheader
[ "$(grep -c Enabled "$work/out")" = 1 ] || fail "not one GPU has MIG on"

# It ends with the node too.
run 0 partita-sim driver unload --node a
run 0 partita-sim down --node a
[ -z "$(servers)" ] || fail "the process outlives the node"

# Another chip keeps no mode.
run 0 partita-sim up h200-vm --node b
run 0 partita-sim driver unload --node b
device=$PARTITA_SIM_DIR/b/sys/bus/pci/devices/0000:00:06.0
[ "$(word "$device/resource0" 0)" = 180000a1 ] || fail "wrong chip"
[ "$(word "$device/resource0" 0x118234)" = 00000000 ] || fail "a register of another chip"
run 0 partita-sim down --node b
