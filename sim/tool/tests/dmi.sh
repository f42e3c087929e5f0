#!/usr/bin/env bash
# The machine's name is the node's: the one of its file, or none at all. The host's is of another machine.
source "$(dirname "$0")/common.sh"

run 0 partita-sim up dgx-a100-40
run 0 partita-sim run -- cat /sys/class/dmi/id/product_name /sys/class/dmi/id/sys_vendor
[ "$(cat "$work/out")" = "DGXA100 920-23687-2530-000
NVIDIA" ] || fail "another machine"
run 0 partita-sim run -- readlink -f /sys/class/dmi/id
shows /sys/devices/virtual/dmi/id
run 0 partita-sim run -- ls /sys/class
for name in $(ls /sys/class); do shows "$name"; done
run 0 partita-sim down

need_own_mounts
# A host that has such names itself.
cat >"$work/host" <<'HOST'
set -e
mount -t tmpfs tmpfs /sys/class
mkdir -p /sys/class/dmi/id
echo Host >/sys/class/dmi/id/product_name
echo Host >/sys/class/dmi/id/board_name
exec "$@"
HOST
on_named_host() { unshare --mount sh "$work/host" "$@"; }
run 0 partita-sim up h200-vm
run 0 on_named_host cat /sys/class/dmi/id/product_name
shows Host
run 1 on_named_host partita-sim run -- cat /sys/class/dmi/id/product_name
complains "No such file"
run 0 partita-sim down
run 0 partita-sim up dgx-a100-40
run 0 on_named_host partita-sim run -- cat /sys/class/dmi/id/product_name
shows DGXA100
run 1 on_named_host partita-sim run -- cat /sys/class/dmi/id/board_name
