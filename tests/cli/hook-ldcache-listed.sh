#!/usr/bin/env bash
# A folder that the image lists itself is not listed again; one that is no folder for a loader is refused.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
mkdir "$rootfs/etc/more"
echo "include more/*" >"$rootfs/etc/ld.so.conf"
echo "/opt/driver/ # ours" >"$rootfs/etc/more/x"
run 0 hook update-ldcache --folder /opt/driver
! ls "$rootfs"/etc/ld.so.conf.d/00-nvcr-* 2>/dev/null || fail "listed twice"

for folder in $'/a\n/b' relative "" "/a b" '/a#b' '/a*'; do
  run 1 hook update-ldcache --folder "$folder"
  complains "is no folder for the loader"
done
