#!/usr/bin/env bash
# A program that root runs with one GPU and one MIG device sees these; every other node is refused by the cgroup, also
# where it lies elsewhere, and none can be made. Nothing of it stays: no mount, no cgroup.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
read -r gi ci <<<"$(caps 1)"
host=$(host_mounts)

run 0 on_node partita run --gpu 1,6:1 -- $(probe)
silent err
nodes nvidia1 nvidia6 "nvidia-caps/nvidia-cap$gi" "nvidia-caps/nvidia-cap$ci"

run 0 on_node partita run --gpu 1,6:1 -- bash -c 'cd /proc/driver/nvidia && ls gpus && find capabilities -type f | wc -l && cat params'
shows "$(address 1)" "$(address 6)" "ModifyDeviceFiles: 0"
[ "$(grep -c '^0000:' "$work/out")" = 2 ] || fail "other GPUs in /proc"
grep -qx 2 "$work/out" || fail "other capabilities in /proc"

run 0 on_node partita run --gpu 1,6:1 -- nvidia-smi -L
[ "$(grep -c '^GPU' "$work/out")" = 2 ] || fail "nvidia-smi sees other GPUs"
[ "$(grep -c MIG- "$work/out")" = 1 ] || fail "nvidia-smi sees other MIG devices"

# The others lie in the node's own folder too.
for version in v1 v2; do
  before=()
  # As on a host that has version 2 alone.
  [ $version = v1 ] || before=(unshare --mount --propagation private bash -c
    'umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' bash)
  run 0 on_node "${before[@]}" partita run --gpu 1 -- $(probe /run/partita-sim/dev/nvidia{0,1,6} /dev/null /dev/ptmx)
  silent err
  grep -v ' /dev' "$work/out" | tail -n 5 >"$work/other"
  diff "$work/other" - <<END || fail "cgroup $version"
/run/partita-sim/dev/nvidia0 EPERM
/run/partita-sim/dev/nvidia1 ENXIO
/run/partita-sim/dev/nvidia6 EPERM
/dev/null opened
/dev/ptmx opened
END
done
run 1 on_node partita run --gpu 1 -- mknod "$work/node" c 195 0
complains "Operation not permitted"
# Root may unmount; what was there before is not below.
run 0 on_node partita run --gpu 1 -- bash -c 'umount -l /dev && ls /dev'
[ "$(grep -c nvidia "$work/out")" = 0 ] || fail "the old /dev is below the new one"
run 0 on_node partita run --gpu none -- $(probe)
nodes
run 0 on_node partita run --gpu all -- nvidia-smi -L
[ "$(grep -c '^GPU' "$work/out")" = 7 ] || fail "all: $(cat "$work/out")"

[ "$host" = "$(host_mounts)" ] || fail "the host's mounts changed"
# Whoever removes the cgroup waits for the program's end first.
run 0 on_node partita run --gpu 1 -- bash -c 'sed -n "s|.*:devices:||p" /proc/self/cgroup'
cgroup=/sys/fs/cgroup/devices$(cat "$work/out")
[[ $cgroup == */partita-run-* ]] || fail "not in a cgroup of its own: $cgroup"
until_true gone "$cgroup"
