#!/usr/bin/env bash
# workload start --detach returns when the workload is there, prints its pid, and leaves it running.
source "$(dirname "$0")/common.sh"

run 0 partita-sim up h200-vm
run 0 partita-sim workload start --detach --gpu 0 --memory 4GiB --util 80 -- sleep 1000
silent err
pid=$(cat "$work/out")
kill_at_exit "$pid"
[ "$(cat "/proc/$pid/comm")" = sleep ] || fail "not the pid of the command"
[ "$(ps -o sid= -p "$pid" | tr -d ' ')" = "$pid" ] || fail "it is in this script's session"
for descriptor in 0 1 2; do
  [ "$(readlink "/proc/$pid/fd/$descriptor")" = /dev/null ] || fail "it keeps this script's descriptor $descriptor"
done
run 0 partita-sim workload list
shows "$pid" "sleep"
run 0 partita-sim run -- nvidia-smi
shows "$pid" "4096MiB"
run 0 partita-sim workload stop --all
run 0 partita-sim workload list
! grep -q sleep "$work/out" || fail "it is still listed"

# In the background nobody would see why a command did not start: it is said here.
run 2 partita-sim workload start --detach --gpu 0 -- "$work/none"
complains "run $work/none: No such file or directory"
run 0 partita-sim workload list
! grep -q none "$work/out" || fail "what never ran is listed"
run 2 partita-sim workload start --detach --gpu 0 --pid $$
complains "--detach"
