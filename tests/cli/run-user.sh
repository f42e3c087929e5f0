#!/usr/bin/env bash
# Without root other nodes are absent, by a user namespace in which the program is who it was, with no more rights; it
# cannot uncover what is covered.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
read -r gi ci <<<"$(caps 0)"
mkdir "$work/bin"
cp "$PARTITA_BIN"/partita "$work/bin"
as_user() { on_node setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
user_run() { as_user "$work/bin/partita" run "$@"; }

run 0 user_run --gpu 6:0 -- $(probe)
silent err
nodes nvidia6 "nvidia-caps/nvidia-cap$gi" "nvidia-caps/nvidia-cap$ci"
run 0 user_run --gpu 0 -- bash -c 'id -u; id -g; grep -E "Cap(Prm|Bnd)" /proc/self/status; ls /proc/driver/nvidia/gpus'
[ "$(grep -c 65534 "$work/out")" = 2 ] || fail "another user"
[ "$(grep -c 0000000000000000 "$work/out")" = 2 ] || fail "it has rights"
shows "$(address 0)"
[ "$(grep -c '^0000:' "$work/out")" = 1 ] || fail "other GPUs in /proc"
# Nobody stays where he stood: the directory that he was started in may be one that is covered.
run 1 as_user env --chdir=/dev "$work/bin/partita" run --gpu 0 -- cat nvidia1
complains "No such file or directory"
run 0 as_user env --chdir=/dev "$work/bin/partita" run --gpu 0 -- bash -c 'pwd; ls'
[ "$(grep -cE '^nvidia[0-9]' "$work/out")" = 1 ] || fail "others are in the working directory"
shows /dev
# With all rights in a namespace of its own it can remove what it mounts itself, no more.
run 0 user_run --gpu 0 -- unshare --user --map-root-user --mount bash -c \
  '! umount /dev && ! umount -l /dev/nvidia0 && ! umount /proc/driver/nvidia && ls /dev /proc/driver/nvidia/gpus'
shows nvidia0
[ "$(grep -cE '^nvidia[0-9]|^0000:' "$work/out")" = 2 ] || fail "it uncovered others"

# Where users may make no namespace.
run 1 as_user unshare --user --map-root-user bash -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set -all --inh-caps -all "$0" run --gpu 0 -- true' "$work/bin/partita"
complains "make a user namespace" "run it as root"
