#!/usr/bin/env bash
# One change at a time: the second is told who is at it, or waits with --wait.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up h200-vm
mkdir "$work/run"
exec {lock}>"$work/run/change.lock"
flock "$lock"
echo "$$ partita mig apply" >&"$lock"
run 4 on_node partita mig apply --want 1g.18gb:7
complains "pid $$ (partita mig apply) is changing this node's GPUs" "--wait"
silent out
[ "$(stat -c %a "$work/run/change.lock")" = 600 ] || fail "others can take the lock"
# Looking needs no lock.
run 0 on_node partita mig plan --want 1g.18gb:7

# It says for whom it waits; only then the lock is let go.
mkfifo "$work/told"
on_node partita mig apply --want 1g.18gb:7 --wait {lock}>&- >"$work/waited" 2>"$work/told" &
waiting=$!
exec {told}<"$work/told"
IFS= read -r line <&"$told" || fail "it did not wait"
[ "$line" = "partita: waiting for pid $$ (partita mig apply), which is changing this node's GPUs" ] ||
  fail "it did not wait: $line"
flock -u "$lock"
cat <&"$told" >"$work/err"
wait "$waiting" || fail "it did not go on: $(cat "$work/waited")"
run 0 on_node partita mig assert --want 1g.18gb:7

# Whoever may not change GPUs is told who may.
up h200-vm unprivileged
chmod 755 "$work"
# A copy: what was built may be where only its owner goes, as in root's home.
install -m 755 "$PARTITA_BIN/partita" "$work/partita"
run 1 on_node setpriv --reuid 65534 --clear-groups env PARTITA_RUN_DIR="$work/none/run" \
  "$work/partita" mig apply --want none
complains "Permission denied" "only root changes what GPUs are divided into"
