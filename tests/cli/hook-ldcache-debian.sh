#!/usr/bin/env bash
# An image of Debian's kind: libraries in a folder that its loader does not know are found, before others of the same
# name, their links are made, and a second start of the same container changes nothing.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
echo 12.1 >"$rootfs/etc/debian_version"
echo "include /etc/ld.so.conf.d/*.conf" >"$rootfs/etc/ld.so.conf"
mkdir "$rootfs/etc/ld.so.conf.d"
printf '# Multiarch support\n/usr/local/lib/%s\n/lib/%s\n/usr/lib/%s\n' $triplet $triplet $triplet >"$rootfs/etc/ld.so.conf.d/$triplet.conf"
library "$rootfs/opt/driver/libcuda.so.550.90.07" libcuda.so.1
library "$rootfs/usr/lib/$triplet/libcuda.so.535.1" libcuda.so.1
library "$rootfs/usr/lib/libold.so.1.2" libold.so.1

for namespaces in "" "-Ur"; do
  NAMESPACES=$namespaces run 0 hook update-ldcache --folder /opt/driver --folder "/usr/lib/$triplet"
  silent err
  cached
  shows "libold.so.1 (libc6,x86-64) => /usr/lib/libold.so.1"
  [ "$(grep -m1 libcuda.so.1 "$work/out" | sed 's/.*=> //')" = /opt/driver/libcuda.so.1 ] || fail "another libcuda comes first"
  [ "$(readlink "$rootfs/opt/driver/libcuda.so.1")" = libcuda.so.550.90.07 ] || fail "no link to the library"
  [ "$(lines '00-nvcr-*.conf')" = /opt/driver ] || fail "other folders: $(lines '00-nvcr-*.conf')"
  [ "$(lines 'zz-nvcr-*.conf' | tr '\n' ' ')" = "/lib/$triplet /usr/lib/$triplet /lib /usr/lib " ] ||
    fail "other system folders: $(lines 'zz-nvcr-*.conf')"
  rm "$rootfs/etc/ld.so.cache"
done
[ "$(stat -c %a "$rootfs"/etc/ld.so.conf.d/00-nvcr-*)" = 644 ] || fail "not everybody may read it"
