#!/usr/bin/env bash
# An agent that starts compares what was applied last with what is there and changes nothing, but for one case:
# the layout went with a reboot, no unit brings it back, and nothing is in its place.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
cat >"$work/state.py" <<'PY'
import json, socket, struct, sys
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
asked = json.dumps({"version": 1, "method": "agent.state", "params": {}}).encode()
peer.sendall(struct.pack(">I", len(asked)) + asked)
answer = b""
while len(answer) < 4 or len(answer) < 4 + struct.unpack(">I", answer[:4])[0]:
    answer += peer.recv(65536)
print(json.dumps(json.loads(answer[4:])["result"]["mig"]))
PY
# state TEXT…: the agent says so.
state() {
  run 0 python3 -B "$work/state.py" "$PARTITA_RUN_DIR/agent.sock"
  shows "$@"
}
start_agent first --log-level debug
await first READY=1
logged first "no layout of MIG is wanted"
state '"wanted": ""' '"asWanted": true'
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
run 0 on_node partita mig export
cp "$work/out" "$work/before"
state '"wanted": "what was applied last", "asWanted": true'
kill "${agent[first]}"
ended first 0

start_agent same --log-level debug
await same READY=1
logged same "MIG is as wanted"
kill "${agent[same]}"
ended same 0

# lose: the instances go, as they do with a reboot.
lose() { run 0 on_node partita mig apply --want none; }
cp -r "$PARTITA_STATE_DIR" "$work/kept"
lose
rm -rf "$PARTITA_STATE_DIR" && cp -r "$work/kept" "$PARTITA_STATE_DIR"
start_agent differs
await differs READY=1
logged differs "MIG is not as wanted" "has MIG on: empty, wanted MIG on: 1g.18gb@0"
state '"asWanted": false' 'GPU 0: has MIG on'
run 3 on_node partita mig assert --want 3g.71gb,1g.18gb:2
kill "${agent[differs]}"
ended differs 0

# The same after a reboot, where no unit is installed.
lose
rm -rf "$PARTITA_STATE_DIR" && cp -r "$work/kept" "$PARTITA_STATE_DIR"
echo another-boot >"$PARTITA_STATE_DIR/mig-boot"
echo "$good_config
mig: {restoreAtBoot: \"off\"}" >"$PARTITA_CONFIG_FILE"
start_agent off
await off READY=1
logged off "MIG is not as wanted"
run 3 on_node partita mig assert --want 3g.71gb,1g.18gb:2
kill "${agent[off]}"
ended off 0

echo "$good_config" >"$PARTITA_CONFIG_FILE"
echo another-boot >"$PARTITA_STATE_DIR/mig-boot"
start_agent back
await back READY=1
logged back "MIG was lost by a reboot and brought back"
state '"asWanted": true'
run 0 on_node partita mig export
cmp "$work/before" "$work/out" || fail "another layout came back"
