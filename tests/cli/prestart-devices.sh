#!/usr/bin/env bash
# docker's --gpus: the devices in each of their names, exactly; libraries where the image's distribution has them; the
# loader's cache; a device that is not there is an error, and so is a capability that nobody supports.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
up dgx-a100-40
on_node nvidia-smi -i 6 -mig 1 >/dev/null
on_node nvidia-smi -r -i 6 >/dev/null
on_node nvidia-smi mig -i 6 -cgi 9,19 -C >/dev/null
uuid() { on_node nvidia-smi -L | sed -n "s/.*GPU $1: .*UUID: \(GPU-[^)]*\)).*/\1/p"; }
slice=$(on_node nvidia-smi -L | sed -n 's/.*UUID: \(MIG-[^)]*\)).*/\1/p' | head -1)
list='inside find dev -name "nvidia*" -not -name nvidia-caps | sort; inside ls proc/driver/nvidia/gpus | wc -l; inside find proc/driver/nvidia/capabilities -name access 2>/dev/null | sort || true'

container NVIDIA_VISIBLE_DEVICES=1,3
run 0 prestart_then "$list"
diff - "$work/out" <<'END' || fail "other devices than GPU 1 and 3"
dev/nvidia-uvm
dev/nvidia-uvm-tools
dev/nvidia1
dev/nvidia3
dev/nvidiactl
2
END
for id in "$(uuid 1)" "$(uuid 1 | tr a-f A-F)" nvidia.com/gpu=1; do
  container NVIDIA_VISIBLE_DEVICES="$id"
  run 0 prestart_then "$list"
  [ "$(grep -c 'nvidia[0-9]' "$work/out")" = 1 ] && shows dev/nvidia1 || fail "not GPU 1: $id"
done

# One MIG device: its GPU's node, and two capability nodes.
container NVIDIA_VISIBLE_DEVICES=6:0
run 0 prestart_then "$list"
cp "$work/out" "$work/slice"
[ "$(grep -c 'dev/nvidia-caps/nvidia-cap' "$work/out")" = 2 ] || fail "not two capability nodes"
[ "$(grep -c '^proc.*access$' "$work/out")" = 2 ] && shows dev/nvidia6 || fail "not the files of one MIG device"
container NVIDIA_VISIBLE_DEVICES="$slice"
run 0 prestart_then "$list"
diff "$work/slice" "$work/out" || fail "another device by its UUID"

# All; on an image of another distribution; the loader finds them.
touch "$rootfs/etc/debian_version"
echo "include /etc/ld.so.conf.d/*.conf" >"$rootfs/etc/ld.so.conf"
container NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
run 0 prestart_then "$list"'
inside ldconfig -p -C etc/ld.so.cache
inside readlink usr/lib/x86_64-linux-gnu/libcuda.so'
[ "$(grep -c '^dev/nvidia[0-9]' "$work/out")" = 8 ] && grep -qx 8 "$work/out" || fail "not all GPUs"
[ "$(grep -c 'nvidia-cap' "$work/out")" = 4 ] || fail "not all MIG devices"
shows "libcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1" libnvidia-ml.so.1

container NVIDIA_VISIBLE_DEVICES=8
run 1 prestart
complains "8: unknown device"
container NVIDIA_VISIBLE_DEVICES=0,../../etc
run 1 prestart
complains "nvidia-container-runtime-hook: error: "
container NVIDIA_VISIBLE_DEVICES=0 NVIDIA_DRIVER_CAPABILITIES=compute,teleport
run 1 prestart
complains 'unsupported capabilities found in NVIDIA_DRIVER_CAPABILITIES "compute,teleport"'

# Without its node the driver's library does not count it: 3 would be the next one.
on_node rm /dev/nvidia3
container NVIDIA_VISIBLE_DEVICES=3
run 1 prestart_then true
complains "3: its number may be another's now" "/dev/nvidia3 is missing"
