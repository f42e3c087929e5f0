#!/usr/bin/env bash
# What cannot be run is refused before anything happens, with what to write instead.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
cp "$PARTITA_BIN/partita" "$work"
refuses() { run "$@"; silent out; }

refuses 2 on_node partita run --gpu 9 -- true
complains "--gpu: 9: unknown device" "this machine has 0, 1, 2, 3, 4, 5, 6:0, 6:1"
refuses 2 on_node partita run --gpu 0,x -- true
complains 'identifier is not a valid UUID or index: "x"'
refuses 2 on_node partita run --gpu ../0 -- true
complains 'identifier is not a valid UUID or index'
refuses 2 on_node partita run --gpu 6 -- true
complains "GPU 6 is in MIG mode" "name 6:0 or 6:1"
refuses 2 on_node partita run --gpu 7 -- true
complains "it has none yet: partita mig apply"
refuses 2 on_node partita run -- true
complains "missing option --gpu"
refuses 2 on_node partita run --gpu 0
complains "run what?"
refuses 2 on_node partita run --gpu 0 --host-root / --host-root "$work" -- true
refuses 2 on_node partita run --gpu 0 --host-root "$work" -- true
complains "programs run on this machine"
refuses 6 partita run --gpu 0 --driver-root "$work" -- true
complains "libnvidia-ml.so.1"
refuses 127 on_node partita run --gpu 0 -- there-is-no-such-program
complains 'run "there-is-no-such-program": No such file or directory'
refuses 127 on_node partita run --gpu 0 -- "$work/none"
refuses 126 on_node partita run --gpu 0 -- "$work"
complains "Permission denied"

# Where the cgroup around it refuses a node that is needed.
cgroup=/sys/fs/cgroup/devices/partita-cli-$$
mkdir "$cgroup"
on_exit+=("rmdir $cgroup")
tools=$(on_node stat -c '%Hr:%Lr' /dev/nvidia-uvm-tools)
echo "c $tools rwm" >"$cgroup/devices.deny"
refuses 1 on_node bash -c 'echo $$ >"$0/cgroup.procs"; exec partita run --gpu 0 -- true' "$cgroup"
complains "write \"c $tools rw\" to devices.allow" "this cgroup may not open that device"
[ "$(find "$cgroup" -mindepth 1 -type d)" = "" ] || fail "a cgroup stays"

# Images.
mkdir "$work/empty"
refuses 2 on_node partita run --gpu 0 --image "$work/none" -- true
complains "--image: image \"$work/none\": No such file or directory"
refuses 2 on_node partita run --gpu 0 --image "$work/empty" -- true
complains "there is no root file system in it"
refuses 2 on_node partita run --gpu 0 --image "$work/probe" -- true
complains "not a directory"
refuses 2 on_node partita run --gpu 0 --image / -- true
complains "this machine's own root"
make_image "$work/image"
refuses 2 in_image --gpu 6 -- bash
complains "GPU 6 is in MIG mode"
refuses 1 on_node setpriv --reuid 65534 --clear-groups "$work/partita" run --gpu 0 --image "$work/image" -- bash
complains "only root may start containers"
refuses 1 on_node unshare --mount --propagation private bash -c \
  'for runc in $(type -ap runc); do mount --bind /dev/null "$runc"; done; exec partita run --gpu 0 --image "$0" -- bash' "$work/image"
complains "there is no runc in PATH" "install the package runc"
# A hook that is missing: the container is refused.
refuses 1 in_image --gpu 0 --hook-path "$work/none" -- bash -c 'echo it runs'
complains "$work/none"
all_cleared
