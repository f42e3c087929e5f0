#!/usr/bin/env bash
# A process that is stopped in the middle of a driver call does not call it hung when it goes on.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
partita-sim fault call nvmlDeviceGetTemperature --hang --times 1 --gpu 2 --node "$node" >/dev/null
# shellcheck disable=SC2016 # the pid is of the inner shell
on_node sh -c 'echo $$ >"$1"; exec partita status' status "$work/pid" >"$work/out" 2>"$work/err" &
# Used up: the call is in it.
used_up() { ! partita-sim fault list --node "$node" | grep -q "1 more times"; }
until_true used_up
pid=$(<"$work/pid")
on_exit+=("kill -CONT $pid 2>/dev/null")
kill -STOP "$pid"
# The one thing that only time can show: the deadline of 2 s passes while nothing runs.
sleep 2.5
kill -CONT "$pid"
partita-sim fault clear --gpu 2 --node "$node" >/dev/null
wait "$!" || fail "exit status $?"
! grep -q hung "$work/out" || fail "a healthy GPU is said to hang"
