#!/usr/bin/env bash
# An image of Red Hat's kind: its own folders are lib64, whatever the host's ldconfig searches by itself.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
echo "include ld.so.conf.d/*.conf" >"$rootfs/etc/ld.so.conf"
library "$rootfs/usr/lib64/libcuda.so.550.90.07" libcuda.so.1
library "$rootfs/usr/lib/$triplet/libnvidia-ml.so.550.90.07" libnvidia-ml.so.1
run 0 hook update-ldcache --folder /usr/lib64 --folder "/usr/lib/$triplet"
cached
shows "=> /usr/lib64/libcuda.so.1" "=> /usr/lib/$triplet/libnvidia-ml.so.1"
[ "$(lines '00-nvcr-*.conf')" = "/usr/lib/$triplet" ] || fail "other folders: $(lines '00-nvcr-*.conf')"
lines 'zz-nvcr-*.conf' | grep -qx /usr/lib64 || fail "its own folders are not listed"
