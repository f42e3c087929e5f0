#!/usr/bin/env bash
# Inside `run` the driver's files are where programs look for them, live; outside nothing changes.
source "$(dirname "$0")/common.sh"

run 0 partita-sim up dgx-a100-40 --node dgx
cat >"$work/look" <<'LOOK'
set -e
for node in nvidia0 nvidia7 nvidiactl nvidia-uvm nvidia-caps/nvidia-cap1; do [ -c /dev/$node ]; done
grep -q '^241 nvidia-caps$' /proc/devices
grep -q '580.159.04' /proc/driver/nvidia/version
[ "$(cat /sys/module/nvidia/version)" = 580.159.04 ]
[ "$(readlink -f /sys/bus/pci/devices/0000:0f:00.0)" = \
  /sys/devices/pci0000:04/0000:04:01.0/0000:05:00.0/0000:06:08.0/0000:0f:00.0 ]
[ "$(basename "$(readlink -f /sys/bus/pci/devices/0000:0f:00.0/driver)")" = nvidia ]
[ "$(cat /sys/bus/pci/devices/0000:90:00.0/numa_node)" = 1 ]
[ "$(cat /sys/bus/pci/devices/0000:c1:00.0/class)" = 0x068000 ]
[ "$(cat /sys/bus/pci/devices/0000:0f:00.0/resource | wc -w)" = 21 ]
[ "$(stat -c %s /sys/bus/pci/devices/0000:0f:00.0/config)" = 256 ]
[ "$(command -v nvidia-smi)" = /usr/bin/nvidia-smi ]
[ -e /run/partita-sim/usr/lib64/libnvidia-ml.so.580.159.04 ]
[ -e /run/partita-sim/lib/firmware/nvidia/580.159.04/gsp_ga10x.bin ]
echo x >/dev/null
[ -e /dev/shm ] && [ -e /dev/fd/0 ] && [ -r /proc/self/status ]
for device in $HOST_DEVICES; do [ -e /sys/bus/pci/devices/$device/vendor ]; done
for block in $HOST_BLOCKS; do [ -e /sys/block/$block/size ]; done
LOOK
host_devices=$(ls /sys/bus/pci/devices 2>/dev/null | tr '\n' ' ' || true)
host_blocks=$(ls /sys/block | tr '\n' ' ')
run 0 env HOST_DEVICES="$host_devices" HOST_BLOCKS="$host_blocks" partita-sim run -- sh "$work/look"
[ ! -e /dev/nvidia0 ] && [ ! -e /proc/driver/nvidia ] || fail "the host sees simulated files"

# A view that is open sees what others change.
mkfifo "$work/go" "$work/seen"
partita-sim run -- sh -c '
  read -r x <"$1"; ls /dev/nvidia-caps | wc -l >"$2"
  read -r x <"$1"; { [ -e /sys/module/nvidia ] || echo unloaded; } >"$2"
  read -r x <"$1"; basename "$(readlink /sys/bus/pci/devices/0000:07:00.0/driver)" >"$2"
  ' view "$work/go" "$work/seen" &
run 0 partita-sim set --gpu 0 mig=on
run 0 partita-sim run -- nvidia-smi mig -i 0 -cgi 9,9 -C
echo >"$work/go"
[ "$(cat "$work/seen")" -eq 6 ] || fail "the new capability nodes are not in the open view"
run 0 partita-sim driver unload
echo >"$work/go"
[ "$(cat "$work/seen")" = unloaded ] || fail "the open view still has the module"
run 0 partita-sim driver load
run 0 partita-sim set --gpu 0 pci-driver=vfio
echo >"$work/go"
[ "$(cat "$work/seen")" = vfio-pci ] || fail "the open view has the old driver link"
wait

# Views nest, and a node does not bring up nodes.
run 0 partita-sim run -- partita-sim run -- nvidia-smi -L
run 0 partita-sim run -- partita-sim show
shows "node dgx"
run 1 partita-sim run -- partita-sim up mixed
complains "this is a simulated node already"
run 1 partita-sim run -- partita-sim down
complains "take it down from outside"

# Also with the /proc that has a file modules, and from another PID namespace.
run 0 partita-sim run --proc-modules -- sh -c 'grep "^nvidia " /proc/modules && cat /proc/self/comm'
shows "nvidia " "cat"
need_own_mounts
run 0 unshare -pf --mount-proc partita-sim run -- nvidia-smi -L
