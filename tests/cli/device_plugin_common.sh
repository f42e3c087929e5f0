# Sourced by scripts in which an agent serves a kubelet, after agent_common.sh. The kubelet is kubelet.py: what a real
# one does is in e2e.
kubelet=$work/kubelet
export PARTITA_DEVICE_PLUGIN_DIR=$kubelet/device-plugins
good_config="$good_config
node: {kubeletRoot: $kubelet, criSocket: $work/cri.sock}"
echo "$good_config" >"$PARTITA_CONFIG_FILE"

# Debian's gRPC belongs to Debian's Python.
speak() { /usr/bin/python3 -B "$source_root/tests/cli/kubelet.py" "$@"; }

# start_kubelet: again where one runs, as a new one. What it says is in $work/kubelet.log.
start_kubelet() {
  [ -z "${kubelet_pid:-}" ] || { kill -9 "$kubelet_pid"; wait "$kubelet_pid" || true; }
  : >"$work/kubelet.log"
  kubelet_from=1
  /usr/bin/python3 -B "$source_root/tests/cli/kubelet.py" serve "$kubelet" >"$work/kubelet.log" &
  kubelet_pid=$!
  on_exit+=("kill -9 $kubelet_pid")
  until_kubelet '"serving"'
}

# start_engine NAME VERSION [CONFIGURATION]: the container engine of that kubelet, instead of the one before. Without one
# nothing is known of it.
start_engine() {
  local fd line
  [ -z "${engine_pid:-}" ] || { kill -9 "$engine_pid"; wait "$engine_pid" || true; }
  rm -f "$work/cri.sock"
  exec {fd}< <(exec /usr/bin/python3 -B "$source_root/tests/cli/kubelet.py" engine "$work/cri.sock" "$@")
  engine_pid=$!
  on_exit+=("kill -9 $engine_pid")
  IFS= read -r -t 30 line <&"$fd" || fail "no engine"
}

# from_now: what kubelet has said by now does not count for until_kubelet.
kubelet_from=1
from_now() { kubelet_from=$(($(wc -l <"$work/kubelet.log") + 1)); }

# until_kubelet TEXT…: waits for a line of its with all of them.
until_kubelet() {
  local line fd text
  exec {fd}< <(exec timeout 60 tail -n +"$kubelet_from" -f "$work/kubelet.log")
  on_exit+=("kill $!")
  while IFS= read -r -t 30 line <&"$fd"; do
    for text in "$@"; do
      [[ $line == *"$text"* ]] || continue 2
    done
    exec {fd}<&-
    return 0
  done
  cat "$work/kubelet.log" >&2
  fail "kubelet has not said: $*"
}

# counted RESOURCE: "HEALTHY of ALL", by its newest list.
counted() {
  grep -F "\"list\": \"$1\"" "$work/kubelet.log" | tail -n 1 |
    python3 -c 'import json, sys
for line in sys.stdin:
    devices = json.loads(line)["devices"]
    print(sum(one["health"] == "Healthy" for one in devices), "of", len(devices))'
}
has_counted() { [ "$(counted "$1")" = "$2" ]; }
# until_counted RESOURCE "HEALTHY of ALL"
until_counted() { until_true has_counted "$1" "$2"; }
# ids RESOURCE [unhealthy]: of its newest list, a line each.
ids() {
  grep -F "\"list\": \"$1\"" "$work/kubelet.log" | tail -n 1 |
    python3 -c 'import json, sys
for one in json.loads(sys.stdin.read())["devices"]:
    if (one["health"] == "Healthy") == (len(sys.argv) == 1):
        print(one["id"])' "${@:2}"
}
