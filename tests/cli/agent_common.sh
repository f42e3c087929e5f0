# Sourced by scripts that run an agent, after common.sh. Nothing waits for a time: what the agent says to
# systemd says how far it is.
unset PARTITA_CONFIG_FILE NODE_NAME PARTITA_LISTEN PARTITA_LOG_FORMAT PARTITA_LOG_LEVEL
export PARTITA_CONFIG_FILE=$work/config.yaml
http=$work/http.sock
good_config="version: partita/v1
listen: unix:$http"
echo "$good_config" >"$PARTITA_CONFIG_FILE"

# configure TEXT: for an agent that runs. Whole at once: a file that is cut off first is empty for a moment, and that is
# a configuration too, of defaults.
configure() {
  echo "$1" >"$PARTITA_CONFIG_FILE.new"
  mv "$PARTITA_CONFIG_FILE.new" "$PARTITA_CONFIG_FILE"
}

# What stands before an agent's command: `agent_on=(partita-sim run --node NODE --)`, which it replaces.
agent_on=()

# lose_layout WANTED: it was applied last, an agent knew, and the node was booted anew. Agents run on that node.
lose_layout() {
  agent_on=(partita-sim run --node "$node" --)
  run 0 on_node partita mig apply --want "$1"
  echo another-boot >"$PARTITA_STATE_DIR/mig-boot"
  run 0 partita-sim reboot --node "$node"
}

# start_agent NAME [ARGUMENT…]: its pid is ${agent[NAME]}, its log $work/NAME.log; its notes go to `await NAME`.
declare -A agent notes
start_agent() {
  local name=$1 fd
  shift
  rm -f "$work/$name.notify"
  exec {fd}< <(exec python3 -B "$source_root/tests/cli/notify_listener.py" "$work/$name.notify")
  on_exit+=("kill $!")
  notes[$name]=$fd
  await "$name" listening
  NOTIFY_SOCKET=$work/$name.notify "${agent_on[@]}" partita agent "$@" 2>"$work/$name.log" &
  agent[$name]=$!
  on_exit+=("kill -9 $!")
}

# await NAME PATTERN: until the agent has said so.
await() {
  local line
  while IFS= read -r -t 30 line <&"${notes[$1]}"; do
    # shellcheck disable=SC2053: a pattern
    [[ $line != $2 ]] || return 0
  done
  cat "$work/$1.log" >&2
  fail "$1 has not said: $2"
}

# ended NAME STATUS: waits for its end.
ended() {
  local status=0
  wait "${agent[$1]}" || status=$?
  [ "$status" -eq "$2" ] || { cat "$work/$1.log" >&2; fail "$1 ended with $status, not $2"; }
}

# logged NAME TEXT…
logged() {
  local name=$1 text
  shift
  for text in "$@"; do
    grep -qF -- "$text" "$work/$name.log" || { cat "$work/$name.log" >&2; fail "$name has not logged: $text"; }
  done
}

# until_logged NAME TEXT [COUNT]: waits for that many lines with it.
until_logged() {
  local line fd count=${3:-1}
  : >>"$work/$1.log" # whoever writes it may not have begun
  exec {fd}< <(exec timeout 60 tail -n +1 -f "$work/$1.log")
  on_exit+=("kill $!")
  while IFS= read -r -t 30 line <&"$fd"; do
    [[ $line != *"$2"* ]] || count=$((count - 1))
    [ "$count" -gt 0 ] || { exec {fd}<&-; return 0; }
  done
  fail "$1 has not logged often enough: $2"
}

# until_true COMMAND…: as that of common.sh, and looks are taken until it is so; how often files are written meanwhile is nobody's concern.
until_true() {
  local end=$((SECONDS + 60))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { cat "$work"/*.log >&2; fail "never so: $*"; }
    on_node partita status >"$work/out" 2>"$work/err" || true
  done
}

page() { run 0 python3 -B "$source_root/tests/cli/http_get.py" "$http" "$1"; }

# woken NAME: how often the agent's timer or descriptor of that name has woken it.
woken() {
  python3 -B - "$PARTITA_RUN_DIR/agent.sock" "$1" <<'PY'
import json, socket, struct, sys
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
asked = json.dumps({"version": 1, "method": "agent.state", "params": {}}).encode()
peer.sendall(struct.pack(">I", len(asked)) + asked)
length = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))[0]
state = json.loads(peer.recv(length, socket.MSG_WAITALL))["result"]
print(sum(each["count"] for each in state["wakeUps"] if each["name"] == sys.argv[2]))
PY
}

# until_health STATUS: of `partita health`, whose words are then there for `shows`.
until_health() {
  local status
  while true; do
    status=0
    on_node partita health --width 400 >"$work/out" 2>"$work/err" || status=$?
    [ "$status" -ne "$1" ] || return 0
    [ "$SECONDS" -lt 50 ] || fail "health never ended with $1"
  done
}
