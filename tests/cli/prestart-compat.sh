#!/usr/bin/env bash
# CUDA libraries of the image that are newer than the host's driver come first for its loader, unless the
# configuration says otherwise; nothing of the image is mounted.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
source "$(dirname "$0")/prestart_common.sh"
up h200-vm
library "$rootfs/usr/local/cuda/compat/libcuda.so.999.10" libcuda.so.1
echo "include /etc/ld.so.conf.d/*.conf" >"$rootfs/etc/ld.so.conf"
# first: which libcuda the loader finds.
first() { grep -m1 'libcuda.so.1 ' "$work/out" | sed 's/.*=> //'; }
look='inside ldconfig -p -C etc/ld.so.cache; inside grep -c /usr/local/cuda /proc/self/mountinfo || true'

container NVIDIA_VISIBLE_DEVICES=0
printf '[nvidia-container-cli]\nno-cgroups = true\n[nvidia-container-runtime.modes.legacy]\ncuda-compat-mode = "disabled"\n' >"$work/config.toml"
run 0 prestart_then "$look"
[ "$(first)" = /usr/lib64/libcuda.so.1 ] || fail "it is switched off"
sed -i 's/disabled/ldconfig/' "$work/config.toml"
run 0 prestart_then "$look"
[ "$(first)" = /usr/local/cuda/compat/libcuda.so.1 ] || fail "the image's own is not first"
grep -qx 0 "$work/out" || fail "something of the image is mounted"
