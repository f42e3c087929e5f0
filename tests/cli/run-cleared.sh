#!/usr/bin/env bash
# Nothing half done stays of a run that fails or is ended at any point: a full disk, a runc that fails, a signal between
# making something and telling the process that clears up, a signal to that process.
# With mounts of its own: other tests look whether the host has new ones.
if [ -z "${own_mounts:-}" ]; then own_mounts=1 exec unshare --mount "$0"; fi
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
make_image "$work/image"
mkdir "$PARTITA_RUN_DIR"

# Room for so many files: none for the container's directories, then none for runc's state.
on_exit+=("umount $PARTITA_RUN_DIR 2>/dev/null")
for room in nr_inodes=2 nr_inodes=3 nr_inodes=4 nr_inodes=5 nr_inodes=20,size=4k; do
  mount -t tmpfs -o "$room" none "$PARTITA_RUN_DIR"
  run 1 in_image --gpu 0 -- bash -c 'echo it runs'
  silent out
  case $room in *[23]) complains "No space left on device" "see that there is room" ;; esac
  all_cleared
  umount "$PARTITA_RUN_DIR"
done

# A runc that leaves something and fails, also at deleting it.
mkdir "$work/failing"
cat >"$work/failing/runc" <<'SCRIPT'
#!/bin/bash
for last in "$@"; do :; done
[ "$3" = run ] || exit 1
/bin/mkdir -p "$2/$last"
echo half >"$2/$last/state.json.new"
exit 5
SCRIPT
chmod +x "$work/failing/runc"
run 5 on_node env PATH="$work/failing:$PATH" partita run --image "$work/image" --gpu 0 -- bash
all_cleared
# But what a container that lives needs stays, where runc cannot delete it.
sed -i 's/state.json.new/state.json/' "$work/failing/runc"
run 5 on_node env PATH="$work/failing:$PATH" partita run --image "$work/image" --gpu 0 -- bash
none_runs() { ! pgrep -f "partita run --image $work/image" >/dev/null; }
until_true none_runs
[ -n "$(find "$PARTITA_RUN_DIR" -name state.json)" ] || fail "the state of a container is gone"
rm -r "$PARTITA_RUN_DIR"/container-*

# A signal as soon as it makes a directory, starts a process, waits for it, mounts. In a cgroup of the test's own: what
# stays there is seen.
cgroup=/sys/fs/cgroup/devices/partita-cli-$$
mkdir "$cgroup"
on_exit+=("rmdir $cgroup")
none_in_it() { empty_cgroup "$cgroup" && [ -z "$(find "$cgroup" -mindepth 1 -type d)" ]; }
ended_at() {
  run "$1" on_node env PATH="$work/engine:$PATH" bash -c 'echo $$ >"$0/cgroup.procs"; exec strace -o /dev/null -e inject="$1" "${@:2}"' \
    "$cgroup" "${@:2}"
  until_true none_in_it
  all_cleared
}
for at in mkdir:signal=TERM:when=1 mkdir:signal=INT:when=2 mkdir:signal=TERM:when=3 mount:signal=TERM:when=1 unshare:signal=HUP; do
  signal=${at#*signal=}
  ended_at $((128 + $(kill -l "${signal%%:*}"))) "$at" partita run --image "$work/image" --gpu 0 -- bash -c 'echo it runs'
  silent out
done
for at in mkdir:signal=TERM:when=1 pidfd_open:signal=INT wait4:signal=TERM; do
  signal=${at#*signal=}
  ended_at $((128 + $(kill -l "${signal%%:*}"))) "$at" partita run --gpu 0 -- bash -c 'echo it runs'
  silent out
done

# Whoever ends everything ends the one that clears up too: it does its work first.
exec {from}< <(exec partita-sim run --node "$node" -- env PATH="$work/engine:$PATH" partita run --image "$work/image" --gpu 0 -- \
  bash -c 'echo ready; exec sleep infinity')
pid=$!
read -r -t 30 line <&"$from"
[ "$line" = ready ] || fail "it does not start: $line"
for clearer in $(pgrep -f "partita run --image $work/image"); do kill -TERM "$clearer"; done
kill -9 "$pid"
! read -r -t 30 line <&"$from" || fail "it says $line"
all_cleared
