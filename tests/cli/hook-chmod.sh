#!/usr/bin/env bash
# chmod changes what is inside, by links that stay inside; what is absent or right is skipped.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
mkdir -m 700 "$rootfs/dev" "$work/outside"
ln -s "$work/outside" "$rootfs/door"
ln -s /dev "$rootfs/link"
mknod "$rootfs/dev/watchdog" c 10 130
chmod 600 "$rootfs/dev/watchdog"
run 0 hook chmod --mode 755 --path /link --path /absent --path /door --path /../outside
run 0 hook chmod --mode 666 --path /dev/watchdog
[ "$(stat -c %a "$rootfs/dev" "$rootfs/dev/watchdog" "$work/outside" | tr '\n' ' ')" = "755 666 700 " ] ||
  fail "$(stat -c '%a %n' "$rootfs/dev" "$work/outside")"
run 1 hook chmod --mode 888 --path /dev
complains '"888" is no mode'
run 1 hook chmod --mode 755 --path " "
complains "a path is empty"
