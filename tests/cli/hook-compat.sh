#!/usr/bin/env bash
# CUDA libraries of the image that are newer than the host's driver: their note decides where they have one, and
# nothing is mounted. The loader finds them before the host's.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
compat=$rootfs/usr/local/cuda-13/compat
library "$compat/libcuda.so.590.44.01" libcuda.so.1
ln -s cuda-13 "$rootfs/usr/local/cuda"
library "$rootfs/usr/lib64/libcuda.so.570.86.15" libcuda.so.1
listed() { cat "$rootfs"/etc/ld.so.conf.d/00-compat-*.conf 2>/dev/null || true; }

run 0 hook enable-cuda-compat --host-driver-version=590.1
[ -z "$(listed)" ] || fail "a driver of the same major does not need it"
run 0 hook enable-cuda-compat
[ -z "$(listed)" ] || fail "nothing is known of the host"

# The note says on which drivers it can stand.
python3 - "$work/note" <<'PY'
import struct, sys
name, text = b"NVIDIA Corporation\0", b'{"Format":1,"CUDA Version":"13.1","Driver":[535,570],"Device":[]}\0'
pad = lambda data: data + b"\0" * (-len(data) % 4)
open(sys.argv[1], "wb").write(struct.pack("<III", len(name), len(text), 1) + pad(name) + pad(text))
PY
objcopy --add-section .note.cuda.fwd_compatibility="$work/note" \
  --set-section-flags .note.cuda.fwd_compatibility=noload,readonly "$compat/libcuda.so.590.44.01"
readelf -SW "$compat/libcuda.so.590.44.01" | grep -q 'cuda.fwd_compatibility NOTE' || fail "no note was made"
run 0 hook enable-cuda-compat --host-driver-version=550.90.07
[ -z "$(listed)" ] || fail "the note does not list driver 550"
run 0 hook enable-cuda-compat --host-driver-version=570.86.15
[ "$(listed)" = /usr/local/cuda-13/compat ] || fail "not listed: $(listed)"
run 0 hook update-ldcache --folder /usr/lib64
cached
[ "$(grep -m1 libcuda.so.1 "$work/out" | sed 's/.*=> //')" = /usr/local/cuda-13/compat/libcuda.so.1 ] ||
  fail "the loader finds another one first"

# What cannot be used is told.
run 0 hook enable-cuda-compat --host-driver-version=570x
complains 'warning: "570x" is no version: no library of the image is used'
run 0 hook enable-cuda-compat --host-driver-version=535.1 --cuda-compat-container-root /etc/debian_version/x
silent err
echo file >"$rootfs/compat"
run 0 hook enable-cuda-compat --host-driver-version=535.1 --cuda-compat-container-root /compat
complains "warning: open /compat in $rootfs: Not a directory" "it is not used"

library "$compat/libcuda.so.600.1" libcuda.so.1
run 0 hook enable-cuda-compat --host-driver-version=535.1
complains "warning: /usr/local/cuda/compat has 2 libraries libcuda.so.*: none of them is used"
