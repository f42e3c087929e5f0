#!/usr/bin/env bash
# Before Linux 5.6 there is no openat2, before 5.9 no close_range: hooks do the same without, and no link leads out.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
mkdir "$work/host" "$rootfs/usr"
ln -s "$work/host" "$rootfs/usr/lib"
ln -s ../../../../../../../../../.."$work/host" "$rootfs/etc/ld.so.conf.d"
old() {
  in_container bash -c 'exec partita_without_syscall openat2,close_range "$0/partita-hook" "${@:2}" <"$1"' \
    "$PARTITA_BIN" "$work/state" "$@"
}
run 0 old create-symlinks --link a::/usr/lib/x --link b::/../../etc/y
[ "$(readlink "$rootfs$work/host/x")" = a ] && [ "$(readlink "$rootfs/etc/y")" = b ] || fail "links are not there"
run 0 old update-ldcache --folder /opt/driver
[ "$(cat "$rootfs$work"/host/00-nvcr-*.conf)" = /opt/driver ] || fail "the loader's file is not there"
[ -e "$rootfs/etc/ld.so.cache" ] || fail "no cache"
run 0 old chmod --mode 700 --path /usr/lib
[ -z "$(ls -A "$work/host")" ] || fail "the host has $(ls -A "$work/host")"
