#!/usr/bin/env bash
# Where no thread or process can be started (ulimit -u, pids.max), it says so and nothing stays.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
mkdir "$work/bin"
cp "$PARTITA_BIN"/partita "$work/bin"

run 6 on_node setpriv --reuid 65534 --regid 65534 --clear-groups bash -c 'ulimit -u 1; exec "$0" run --gpu 0 -- true' \
  "$work/bin/partita"
silent out
complains "the driver could not be asked: start a thread: Resource temporarily unavailable" "allow more: ulimit -u"

# Root is held by its cgroup alone. runc needs more than the three that partita does.
cgroup=/sys/fs/cgroup/pids/partita-cli-$$
mkdir "$cgroup"
on_exit+=("rmdir $cgroup")
make_image "$work/image"
limited() {
  echo "$1" >"$cgroup/pids.max"
  shift
  on_node env PATH="$work/engine:$PATH" bash -c 'echo $$ >"$0/cgroup.procs"; exec partita run "$@"' "$cgroup" "$@"
}
for room in 1 2; do
  run 6 limited "$room" --gpu 0 -- true
  complains "start a thread: Resource temporarily unavailable"
  run 6 limited "$room" --image "$work/image" --gpu 0 -- bash -c 'echo it runs'
  complains "start a thread: Resource temporarily unavailable"
done
run 0 limited 3 --gpu 0 -- true
! limited 3 --image "$work/image" --gpu 0 -- bash -c 'echo it runs' >"$work/out" 2>"$work/err" || fail "runc runs without threads"
silent out
all_cleared
until_true empty_cgroup "$cgroup"
