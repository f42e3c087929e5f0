#!/usr/bin/env bash
# A boot whose configuration is a pipe that nobody writes ends when it is told to, and lets the lock go.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
up h200-vm
mkfifo "$work/pipe"
partita-sim run --node "$node" -- partita mig boot --config-file "$work/pipe" --selected-config one >"$work/out" 2>"$work/err" &
boot=$!
# It waits in open: the lock is held by then.
for _ in $(seq 600); do
  grep -qs 'partita mig boot' "$work"/run/*.lock && grep -qs 'wait_for_partner\|fifo_open' "/proc/$boot/wchan" && break
  grep -q '^State:.S' "/proc/$boot/status" && grep -qs 'partita mig boot' "$work"/run/*.lock && break
  read -rt 0.1 <> <(:) || true
done
kill -TERM "$boot"
status=0
wait "$boot" || status=$?
[ "$status" -lt 128 ] && [ "$status" -ne 0 ] || fail "exit status $status"
complains "$work/pipe: Interrupted system call"
run 0 on_node partita mig apply --yes --want off
