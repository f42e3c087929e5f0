#!/usr/bin/env bash
# Whoever is at the agent's socket and does not carry a change out is an error, and nothing is changed beside it.
source "$(dirname "$0")/common.sh"
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"

up h200-vm
mkdir -p "$PARTITA_RUN_DIR"
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  slices:
    - {devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}
YAML
# listen ERROR: answers each request but for the agent's state with it; none: goes away instead.
listen() {
  rm -f "$PARTITA_RUN_DIR/agent.sock"
  exec {heard}< <(exec python3 -B - "$PARTITA_RUN_DIR/agent.sock" "$1" <<'PY'
import json, socket, struct, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
while True:
    peer, _ = listener.accept()
    while len(header := peer.recv(4, socket.MSG_WAITALL)) == 4:
        asked = json.loads(peer.recv(struct.unpack(">I", header)[0], socket.MSG_WAITALL))
        answer = '{"version": 1, "error": %s}' % sys.argv[2]
        if asked["method"] == "agent.state":
            answer = '{"version": 1, "result": {}}'
        elif not sys.argv[2]:
            break
        peer.sendall(struct.pack(">I", len(answer)) + answer.encode())
    peer.close()
PY
)
  listener=$!
  read -r -u "$heard" line
  [ "$line" = listening ] || fail "nobody listens"
}
untouched() {
  run 3 on_node partita mig assert --want 1g.18gb:7
  run 0 on_node partita mig show
}
on_exit+=('kill $listener')
listen '{"code": "unsupported", "message": "the agent has no method \"mig.look\""}'
run 1 on_node partita mig apply --want 1g.18gb:7
silent out
complains "nothing was changed: the agent has no method" "restart it (systemctl restart partita-agent)"
run 1 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices
complains "othing was changed: the agent has no method" "restart it"
run 1 on_node partita mig boot
complains "nothing was changed: the agent has no method" "restart it"
untouched
kill "$listener"

listen ''
run 1 on_node partita mig apply --want 1g.18gb:7
complains "the agent went away"
run 1 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices
complains "ow the change ended is not known" "partita mig show"
untouched
