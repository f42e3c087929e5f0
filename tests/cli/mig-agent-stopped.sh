#!/usr/bin/env bash
# A change that the agent carries out is put back when its command is interrupted, and when it is killed; one
# whose agent is killed is finished by the next.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
run 0 on_node partita mig export
cp "$work/out" "$work/before"
# Slow enough that a signal sent after the first step comes before the last.
partita-sim fault call nvmlDeviceCreateGpuInstanceWithPlacement --node "$node" --slow 500 >/dev/null
mkfifo "$work/steps"
# begin: a change, up to its first new instance.
begin() {
  partita-sim run --node "$node" -- partita mig apply --want 1g.18gb:7 >"$work/out" 2>"$work/steps" &
  pid=$!
  local step=
  exec {steps}<"$work/steps"
  while [[ $step != *"create GPU instance"* ]] && read -r step <&"$steps"; do :; done
  [[ $step == *"create GPU instance"* ]] || fail "it did not begin"
}
# finish STATUS
finish() {
  cat <&"$steps" >"$work/err"
  exec {steps}<&-
  status=0
  wait "$pid" || status=$?
  [ "$status" -eq "$1" ] || fail "exit status $status, not $1"
}
begin
# Meanwhile another is told who is at it.
status=0
on_node partita mig apply --want none >"$work/second.out" 2>"$work/second.err" </dev/null || status=$?
[ "$status" -eq 4 ] || fail "a second change ended with $status: $(cat "$work/second.err")"
grep -qF "pid $pid (partita mig apply) is changing this node's GPUs" "$work/second.err" ||
  fail "it does not say who: $(cat "$work/second.err")"
[ ! -s "$work/second.out" ] || fail "the second has drawn something"
# And whoever passes the agent by, for the agent holds the lock for it.
library=$(find "$PARTITA_SIM_DIR/$node" -name libnvidia-ml.so.1 | head -1)
status=0
on_node partita mig apply --want none --library "$library" >"$work/second.out" 2>"$work/second.err" </dev/null || status=$?
[ "$status" -eq 4 ] || fail "a change beside the agent ended with $status: $(cat "$work/second.err")"
grep -qF "pid ${agent[it]} (partita agent for pid $pid (partita mig apply)) is changing" "$work/second.err" ||
  fail "it does not say who: $(cat "$work/second.err")"
kill -INT "$pid"
finish 3
shows "stopped before it was done" "put back as it was" "not applied"
run 0 on_node partita mig export
cmp "$work/before" "$work/out" || fail "it was not put back"

# The agent goes on to the end of the way back; a change that waits sees the node as it was.
begin
kill -KILL "$pid"
finish 137
run 0 on_node partita mig apply --wait --want 3g.71gb,1g.18gb:2
run 0 on_node partita mig export
cmp "$work/before" "$work/out" || fail "it was not put back"

begin
kill -KILL "${agent[it]}"
finish 1
complains "how the change ended is not known: the agent went away" "partita mig show"
ended it 137
partita-sim fault clear --node "$node" --all >/dev/null
start_agent next
await next READY=1
run 0 on_node partita mig apply --want 1g.18gb:7
run 0 on_node partita mig assert --want 1g.18gb:7

# Stopping the agent puts back and tells before it goes.
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
partita-sim fault call nvmlDeviceCreateGpuInstanceWithPlacement --node "$node" --slow 500 >/dev/null
begin
kill -TERM "${agent[next]}"
finish 3
shows "put back as it was"
ended next 0
