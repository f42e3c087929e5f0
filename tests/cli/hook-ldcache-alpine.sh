#!/usr/bin/env bash
# Alpine's loader reads a path file: its lines stay, ours are added once.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
echo 3.20.0 >"$rootfs/etc/alpine-release"
path=$rootfs/etc/ld-musl-$(uname -m).path
printf '/lib:/usr/local/lib\n/usr/lib' >"$path"
run 0 hook update-ldcache --folder /opt/driver
grep -qx '/lib:/usr/local/lib' "$path" && grep -qx /opt/driver "$path" && grep -qx /usr/lib64 "$path" || fail "$(cat "$path")"
[ "$(grep -cx /usr/lib "$path")" = 1 ] || fail "twice: $(cat "$path")"
cp "$path" "$work/first"
run 0 hook update-ldcache --folder /opt/driver
cmp "$work/first" "$path" || fail "a second start added lines"
