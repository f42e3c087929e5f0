#!/usr/bin/env bash
# An image that lies about its loader's files: nothing outside of it is written or read, nothing is waited for, and
# what cannot be is a clear error that keeps the container from starting.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
mkdir "$work/host"
echo secret >"$work/host/secret"
before=$(find "$work/host" -printf '%p %T@ %s\n')
host_is_as_before() {
  [ "$(find "$work/host" -printf '%p %T@ %s\n')" = "$before" ] || fail "the host was changed: $1"
}

# CVE-2025-23267 and H4: every file and folder that is written, as a link to the host.
for name in ld.so.conf ld.so.conf.d ld.so.cache ld.so.cache~; do
  for to in "$work/host" ../../../../../../../../../../"$work/host" "$work/host/secret"; do
    rm -rf "$rootfs/etc" && mkdir "$rootfs/etc"
    ln -s "$to" "$rootfs/etc/$name"
    hook update-ldcache --folder /opt/driver >"$work/out" 2>"$work/err" || true
    host_is_as_before "$name -> $to"
  done
done
rm -rf "$rootfs/etc"
ln -s "$work/host" "$rootfs/etc"
run 0 hook update-ldcache --folder /opt/driver
host_is_as_before "/etc"
rm "$rootfs/etc"

mkdir "$rootfs/etc"
mkfifo "$rootfs/etc/ld.so.conf"
run 1 hook update-ldcache --folder /opt/driver
complains "error: update-ldcache: /etc/ld.so.conf in $rootfs is no regular file"
rm "$rootfs/etc/ld.so.conf"
echo "include /etc/ld.so.conf /etc/ld.so.conf.d/*" >"$rootfs/etc/ld.so.conf"
mkdir "$rootfs/etc/ld.so.conf.d"
echo "include /etc/ld.so.conf" >"$rootfs/etc/ld.so.conf.d/loop.conf"
run 1 hook update-ldcache --folder /opt/driver
complains "/etc/ld.so.conf includes more than 256 files, or itself"
echo "include /etc/ld.so.conf.d/*" >"$rootfs/etc/ld.so.conf"
rm "$rootfs/etc/ld.so.conf.d/loop.conf"
truncate -s 2M "$rootfs/etc/ld.so.conf.d/large.conf"
run 1 hook update-ldcache --folder /opt/driver
complains "has more than 1048576 bytes"

# What ldconfig itself would wait for: a library that is a link to a FIFO, and its own cache.
rm -rf "$rootfs/etc" && mkdir -p "$rootfs/etc" "$rootfs/usr/lib" "$rootfs/var/cache/ldconfig"
mkfifo "$rootfs/usr/lib/fifo"
ln -s fifo "$rootfs/usr/lib/libz.so.9"
run 1 hook update-ldcache --folder /opt/driver
complains "/usr/lib/libz.so.9 in $rootfs is a FIFO: ldconfig would wait for it"
rm "$rootfs/usr/lib/libz.so.9"

# A ld.so.conf that includes nothing of ours: the folder is in the cache, and nothing piles up.
library "$rootfs/opt/driver/libdriver.so.1.0" libdriver.so.1
: >"$rootfs/etc/ld.so.conf"
for start in 1 2; do
  run 0 hook update-ldcache --folder /opt/driver
  cached
  shows "/opt/driver/libdriver.so.1"
done
[ "$(ls "$rootfs/etc/ld.so.conf.d" | wc -l)" -eq 2 ] || fail "files pile up: $(ls "$rootfs/etc/ld.so.conf.d")"
