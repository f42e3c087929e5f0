#!/usr/bin/env bash
# In a directory that others may write, somebody else's socket is no agent: nothing that it says counts.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
chmod 755 "$work"
mkdir -m 1777 -p "$PARTITA_RUN_DIR"
cat >"$work/stranger.py" <<'PY'
import socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.bind(sys.argv[1])
peer.listen()
print("listens", flush=True)
while True:
    peer.accept()
PY
exec 5< <(exec setpriv --reuid 65534 --clear-groups /usr/bin/python3 -B "$work/stranger.py" "$PARTITA_RUN_DIR/agent.sock")
on_exit+=("kill $!")
read -r -t 30 line <&5
[ "$line" = listens ] || fail "the stranger does not listen"
run 0 on_node partita status
complains "user 65534 listens at $PARTITA_RUN_DIR/agent.sock" "looked without the agent"
shows "A100"
run 1 on_node partita mig apply --gpu 0 --want 7g.40gb --yes
complains "user 65534 listens at $PARTITA_RUN_DIR/agent.sock"
run 0 on_node partita mig show --gpu 0
shows "MIG off"
