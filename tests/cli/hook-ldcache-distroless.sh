#!/usr/bin/env bash
# An image without /etc/ld.so.conf, even without /etc, gets one, with one file for the folders and one for its own.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
rmdir "$rootfs/etc"
library "$rootfs/opt/driver/libcuda.so.550.90.07" libcuda.so.1
run 0 hook update-ldcache --folder /opt/driver
cached
shows "=> /opt/driver/libcuda.so.1"
[ "$(cat "$rootfs/etc/ld.so.conf")" = "include /etc/ld.so.conf.d/*.conf" ] || fail "$(cat "$rootfs/etc/ld.so.conf")"
[ "$(cd "$rootfs/etc/ld.so.conf.d" && ls | sed 's/-[0-9a-f]*\.conf//' | tr '\n' ' ')" = "00-nvcr zz-nvcr " ] || fail "$(ls "$rootfs/etc/ld.so.conf.d")"
