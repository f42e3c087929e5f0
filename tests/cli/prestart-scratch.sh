#!/usr/bin/env bash
# An image of one program, without /etc and without a loader (FROM scratch), gets its devices and libraries; where its
# /etc takes no cache, it gets none, and a line says so.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
up h200-vm
rm -rf "$rootfs"
mkdir -p "$rootfs"/{proc,dev}
container NVIDIA_VISIBLE_DEVICES=all
run 0 prestart_then 'inside ls dev; inside readlink usr/lib64/libcuda.so; inside ls etc'
shows nvidia0 nvidiactl libcuda.so.1 ld.so.cache
silent err

# One line, whatever ldconfig has to say.
rm -rf "$rootfs"
mkdir -p "$rootfs"/{proc,dev}
: >"$rootfs/etc"
run 0 prestart_then 'inside ls dev; inside ls -d usr/lib64/libcuda.so.1'
shows nvidia0 nvidiactl usr/lib64/libcuda.so.1
complains "warning: " "/etc"
[ "$(wc -l <"$work/err")" = 1 ] || fail "more than a line"
