#!/usr/bin/env bash
# A workload is there while its process is, and gone when that goes, however it ends.
source "$(dirname "$0")/common.sh"

idle() { [ "$(partita-sim workload list)" = "no workload" ]; }
busy() { ! idle; }
memory_used() { partita-sim run -- nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits; }

run 0 partita-sim up h200-vm --node vm
partita-sim workload start --gpu 0 --memory 4GiB --util 80 -- sleep 1000 &
pid=$!
kill_at_exit "$pid"
until_true busy
run 0 partita-sim workload list
shows "0   0    $pid" "4.0 GiB" "80%" "sleep"
run 0 partita-sim run -- nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader
shows "$pid, 4096 MiB"
kill -KILL "$pid"
wait "$pid" || true
idle || fail "a killed workload is still listed"
[ "$(memory_used)" -eq 0 ] || fail "its memory is still used"

need_own_mounts
# A process in another PID namespace, watched by a guardian.
unshare -pf --kill-child --mount-proc sleep 1000 &
unshare_pid=$!
kill_at_exit "$unshare_pid"
until_true has_child "$unshare_pid"
inner=$(child_of "$unshare_pid")
run 0 partita-sim workload start --gpu 0 --memory 1GiB --pid "$inner"
shows "pid $inner"
run 0 partita-sim run -- nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader
shows "$inner, 1024 MiB"
run 0 nsenter -t "$inner" -p -m partita-sim run -- \
  nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader
shows "1, 1024 MiB" # its own name there
kill -KILL "$inner"
wait "$unshare_pid" || true
until_true idle

# One that starts inside another PID namespace.
unshare -pf --kill-child --mount-proc partita-sim workload start --gpu 0 --memory 2GiB -- sleep 1000 &
unshare_pid=$!
kill_at_exit "$unshare_pid"
until_true busy
inner=$(child_of "$unshare_pid")
run 0 partita-sim workload list
shows " $inner "
run 0 partita-sim workload stop 0 --kill
wait "$unshare_pid" || true
idle || fail "a stopped workload is still listed"

# A guardian that is stopped lets the process go and does not touch it.
sleep 1000 &
kill_at_exit $!
run 0 partita-sim workload start --gpu 0 --pid $!
run 0 partita-sim workload stop --all
idle || fail "the watched process is still bound"
kill -0 $! || fail "the watched process was ended"
