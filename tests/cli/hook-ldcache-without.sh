#!/usr/bin/env bash
# Without an ldconfig on the host, or where it cannot be isolated, the loader's files and the libraries' links are
# there, and a warning says what is not.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
library "$rootfs/opt/driver/libcuda.so.550.90.07" libcuda.so.1
echo text >"$rootfs/opt/driver/libtext.so.1"

run 0 hook update-ldcache --folder /opt/driver --ldconfig-path "$work/none"
complains "warning: open $work/none: No such file or directory" "the loader's files and links are there, its cache is not"
[ "$(readlink "$rootfs/opt/driver/libcuda.so.1")" = libcuda.so.550.90.07 ] || fail "no link"
[ "$(lines '00-nvcr-*.conf')" = /opt/driver ] || fail "no file for the loader"
[ ! -e "$rootfs/etc/ld.so.cache" ] || fail "a cache"

rm "$rootfs/opt/driver/libcuda.so.1"
mkdir "$rootfs/proc"
for call in open_tree fsopen=EPERM pivot_root=EPERM; do
  run 0 partita_without_syscall "$call" bash -c "$(declare -f in_container hook); rootfs=$rootfs work=$work; hook update-ldcache --folder /opt/driver"
  complains "warning: cannot isolate ldconfig: "
done
[ -e "$rootfs/opt/driver/libcuda.so.1" ] || fail "no link"
