#!/usr/bin/env bash
# A hook that takes for ever: a signal ends it with its children, the last hook still runs, the lock is
# free again; it does not outlive a killed partita; and the file may limit its time.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"

up h200-vm
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  slices:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.18gb: 7}
YAML
# hooks_with LINE: the file, with this line in the entry of the endless hook. The hook has $work/alive
# open for as long as it or its child lives.
hooks_with() {
  cat >"$work/hooks.yaml" <<YAML
version: v1
hooks:
  pre-apply-mode:
    - command: /bin/sh
      args: ["-c", "exec >$work/alive; echo begun; PATH=/bin; sleep 1000 & wait"]
      $1
  apply-exit:
    - {command: /bin/sh, args: ["-c", "echo tidied >>$work/log"]}
YAML
}
mkfifo "$work/alive"
# interrupt SIGNAL: apply, with this signal once the hook runs; returns when the hook is gone.
interrupt() {
  partita-sim run --node "$node" -- "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices -k "$work/hooks.yaml" \
    >"$work/out" 2>"$work/err" &
  local pid=$! line=
  exec {alive}<"$work/alive"
  read -r line <&"$alive"
  [ "$line" = begun ] || fail "the hook said $line"
  kill "-$1" "$pid"
  cat <&"$alive"
  exec {alive}<&-
  status=0
  wait "$pid" || status=$?
}

hooks_with ""
for signal in TERM INT; do
  rm -f "$work/log"
  interrupt $signal
  [ "$status" -eq 1 ] || fail "exit status $status"
  complains "running pre-apply-mode hooks: hook /bin/sh was stopped"
  [ "$(cat "$work/log")" = tidied ] || fail "the last hook did not run after SIG$signal"
done
run 3 on_node partita mig assert --want 1g.18gb:7

hooks_with ""
sed -i 's/PATH=.*wait/exec \/bin\/sleep 1000/' "$work/hooks.yaml"
interrupt KILL
[ "$status" -eq 137 ] || fail "exit status $status"

hooks_with "timeout: 1"
cat "$work/alive" >/dev/null &
run 1 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices -k "$work/hooks.yaml"
complains "hook /bin/sh took longer than 1 s and was killed"
wait $! || true

# Nothing holds the lock.
run 0 on_node partita mig apply --want 1g.18gb:7
