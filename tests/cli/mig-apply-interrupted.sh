#!/usr/bin/env bash
# Ctrl-C in the middle puts the GPU back as it was; after kill -9 the next apply finds its way.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up h200-vm
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
run 0 on_node partita mig export
cp "$work/out" "$work/before"
# Slow enough that a signal sent after the first step comes before the last.
partita-sim fault call nvmlDeviceCreateGpuInstanceWithPlacement --node "$node" --slow 500 >/dev/null
mkfifo "$work/steps"
# interrupt SIGNAL: apply, with this signal once the first new instance is there.
interrupt() {
  partita-sim run --node "$node" -- partita mig apply --want 1g.18gb:7 >"$work/out" 2>"$work/steps" &
  local pid=$! step=
  exec {steps}<"$work/steps"
  while [[ $step != *"create GPU instance"* ]] && read -r step <&"$steps"; do :; done
  kill "-$1" "$pid"
  cat <&"$steps" >"$work/err"
  exec {steps}<&-
  status=0
  wait "$pid" || status=$?
}
interrupt INT
[ "$status" -eq 3 ] || fail "exit status $status"
shows "stopped before it was done" "put back as it was" "not applied"
run 0 on_node partita mig export
cmp "$work/before" "$work/out" || fail "it was not put back"

interrupt KILL
[ "$status" -eq 137 ] || fail "exit status $status"
partita-sim fault clear --node "$node" --all >/dev/null
run 3 on_node partita mig assert --want 1g.18gb:7
run 0 on_node partita mig apply --want 1g.18gb:7
run 0 on_node partita mig assert --want 1g.18gb:7
