#!/usr/bin/env bash
# EGL sees the GPUs whose nodes are in the container; none: nothing is written (H10).
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
run 0 hook update-application-profile
[ ! -e "$rootfs/etc/nvidia" ] || fail "written without a GPU"
mkdir "$rootfs/dev"
mknod "$rootfs/dev/nvidia1" c 195 1
mknod "$rootfs/dev/nvidia3" c 195 3
mknod "$rootfs/dev/nvidiactl" c 195 255
mknod "$rootfs/dev/nvidia70" c 195 70
touch "$rootfs/dev/nvidia5"
run 0 hook update-application-profile
complains "/dev/nvidia70: EGL counts no minor above 63"
file=$rootfs/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf
[ "$(cat "$file")" = '{"profiles":[{"name":"_container_","settings":["EGLVisibleDGPUDevices",0xa]}],"rules":[{"pattern":[],"profile":"_container_"}]}' ] ||
  fail "$(cat "$file")"
[ "$(stat -c %a "$file" "$(dirname "$file")" | tr '\n' ' ')" = "444 555 " ] || fail "other modes"
rm "$rootfs/dev/nvidia3"
run 0 hook update-application-profile
grep -q 'Devices",0x2\]' "$file" || fail "a second start keeps the old mask"
