#!/usr/bin/env bash
# The API server is gone, slow, busy, forgets what was, and cuts every watch: what changed meanwhile, there and here, is in
# force and published afterwards, and the agent asks no more often than it has to.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/api_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" -- env POD_NAME=)
config_key=nvidia.com/device-plugin.config
configs_path=/api/v1/namespaces/gpu/configmaps

# shares NAME NUMBER: the ConfigMap's configuration of that name shares each GPU among so many.
shares() {
  api PATCH "$configs_path/plugin" "{\"data\": {\"$1\": \"version: v1\\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: $2}]}}\"}}" >"$work/out"
}
choose() { api PATCH "$node_path" "{\"metadata\": {\"labels\": {\"$config_key\": \"$1\"}}}" >"$work/out"; }
take_label() { api PATCH "$node_path" "{\"metadata\": {\"labels\": {\"$1\": null}}}" >"$work/out"; }
# bind DRIVER: GPU 7 goes to another driver, or comes back.
bind() {
  run 0 partita-sim set --node "$node" --gpu 7 "pci-driver=$1"
  run 0 on_node partita status
}
# all_there NAME SHARES GPUS: waits until what was changed there is in force, what was changed here is published, and
# nothing is missing. It watches the Node, as the administrator.
all_there() {
  python3 -B - "https://127.0.0.1:$administrators_port/api/v1/nodes?fieldSelector=metadata.name%3Dgpu-1" "$work/api.pem" "$@" <<'PY' ||
import json, ssl, sys, urllib.request
url, authority, name, shares, gpus = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
def ask(more=""):
    return urllib.request.urlopen(urllib.request.Request(url + more, headers={"Authorization": "Bearer token"}),
                                  context=context, timeout=100)
def right(node):
    told = {each["type"]: each["message"] for each in node.get("status", {}).get("conditions", [])}
    labels = {key.removeprefix("nvidia.com/gpu."): value for key, value in node["metadata"]["labels"].items()}
    return (f"configmap/gpu/plugin/{name} is in force" in told.get("partita.dev/GPUConfigApplied", "")
            and (labels.get("replicas"), labels.get("count")) == (shares, gpus) and "memory" in labels)
while True:
    found = json.load(ask())
    if right(found["items"][0]):
        break
    stream = ask(f"&watch=true&resourceVersion={found['metadata']['resourceVersion']}")
    if any(right(json.loads(line)["object"]) for line in stream):
        break
PY
    { cat "$work/it.log" >&2; api GET "$node_path" >&2; fail "never so: $*"; }
}
# told NAME: waits for the Event that says that it is in force. Each name is chosen once: of its own Event nothing is lost.
told() { until_true has_event "configmap/gpu/plugin/$1 is in force"; }
has_event() { api GET /apis/events.k8s.io/v1/namespaces/default/events | grep -qF -- "$1"; }

trouble() { api POST /fake "$1" >"$work/out"; }
# tally: as it is now; `since KEYS…` then says how much more there is of it.
tally() { api GET /fake >"$work/tally"; }
since() {
  api GET /fake >"$work/tally.now"
  python3 -B - "$work/tally" "$work/tally.now" "$@" <<'PY'
import json, sys
def found(path):
    at = json.load(open(path))
    for key in sys.argv[3:]:
        at = at.get(key, 0)
    return sum(at.values()) if isinstance(at, dict) else at
print(found(sys.argv[2]) - found(sys.argv[1]))
PY
}
# until_more NUMBER cut|wrong: waits until there are so many more of them.
until_more() {
  local before
  before=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/tally" "$2")
  api GET "/fake?$2=$((before + $1))" >"$work/out"
}
# at_most NUMBER KEYS…
at_most() {
  local number
  number=$(since "${@:2}")
  [ "$number" -le "$1" ] || { cat "$work/tally" "$work/tally.now" >&2; fail "$number times ${*:2}, not at most $1"; }
}
# not_hurried CHANGES: nobody came again too soon, and what was written is a few requests a change.
not_hurried() {
  at_most 0 hurried
  at_most "$((3 * $1))" requests "patch nodes"
  at_most "$((2 * $1))" requests "create events"
}

# tried: how often the agent has asked for its Node and for the ConfigMap, the lesser and the greater; those that nobody
# heard too.
tried() {
  python3 -B - "$PARTITA_RUN_DIR/agent.sock" <<'PY'
import json, socket, struct, sys
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
asked = json.dumps({"version": 1, "method": "agent.state", "params": {}}).encode()
peer.sendall(struct.pack(">I", len(asked)) + asked)
length = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))[0]
requests = json.loads(peer.recv(length, socket.MSG_WAITALL))["result"]["cluster"]["requests"]
watches = [requests.get(f"watch {each}", 0) for each in ("nodes", "configmaps")]
print(min(watches), max(watches))
PY
}
# gone_for TIMES COMMAND…: nobody listens until both watches have been tried so often again. Each pause is twice the one
# before: when the slower of them has been tried that often, the other has not been tried many times.
gone_for() {
  local least most before_least before_most
  trouble '{"gone": true}'
  read -r before_least before_most < <(tried)
  "${@:2}"
  tries_enough() { read -r least most < <(tried) && [ "$((least - before_least))" -ge "$1" ]; }
  until_true tries_enough "$1"
  [ "$((most - before_most))" -le 12 ] || fail "$((most - before_most)) tries while nobody listens"
}

api POST /api/v1/nodes '{"kind": "Node", "metadata": {"name": "gpu-1"}}' >"$work/out"
api POST "$configs_path" '{"kind": "ConfigMap", "metadata": {"name": "plugin"}, "data": {"whole": "version: v1"}}' >"$work/out"
for each in first second third fourth fifth sixth; do shares "$each" 2; done
choose first
configure "$good_config
node: {name: gpu-1, kubeconfig: $kubeconfig}
devicePlugin: {configMap: gpu/plugin, default: whole}"
start_agent it
await it 'READY=1*'
all_there first 2 8

# Gone. Another server of the cluster takes changes meanwhile, and a GPU leaves.
change_while_gone() {
  choose second
  shares second 6
  take_label nvidia.com/gpu.memory
  bind vfio
}
tally
gone_for 2 change_while_gone
at_most 0 requests
trouble '{}'
all_there second 6 7
told second
# Each watch goes on where it was.
at_most 2 requests "watch nodes"
at_most 2 requests "watch configmaps"
at_most 0 requests "list nodes"
at_most 0 requests "list configmaps"
not_hurried 4

# Slow: nothing that is open is asked for again.
trouble '{"slow": 0.3}'
tally
choose third
shares third 3
take_label nvidia.com/gpu.memory
bind nvidia
all_there third 3 8
told third
at_most 0 requests "watch nodes"
at_most 0 requests "watch configmaps"
not_hurried 4

# Busy: everybody is sent away, and comes no sooner than told.
gone_for 1 true
tally
trouble '{"status": 429, "times": 8, "retry_after": 1}'
choose fourth
shares fourth 5
bind vfio
until_more 8 wrong
all_there fourth 5 7
told fourth
at_most "$((2 + $(since wrong)))" requests "watch nodes"
at_most "$((2 + $(since wrong)))" requests "watch configmaps"
at_most 0 hurried

# What happened while nobody listened is forgotten there (410): one list each tells it.
tally
change_before_forgetting() {
  choose fifth
  shares fifth 7
  bind nvidia
}
gone_for 1 change_before_forgetting
trouble '{"forget": true}'
all_there fifth 7 8
told fifth
at_most 1 requests "list nodes"
at_most 1 requests "list configmaps"
not_hurried 3

# Every watch is cut, again and again.
trouble '{"cut_after": 0.2}'
tally
until_more 2 cut
choose sixth
shares sixth 8
bind vfio
until_more 8 cut
all_there sixth 8 7
told sixth
at_most 0 requests "list nodes"
at_most 0 requests "list configmaps"
watched=$(($(since requests "watch nodes") + $(since requests "watch configmaps")))
[ "$watched" -le "$(($(since cut) + 2))" ] || fail "$watched watches for $(since cut) cuts"
not_hurried 3

# All is well: once everything is told, nobody asks for anything.
trouble '{}'
silent_now() {
  tally
  for _ in 1 2 3 4 5; do run 0 on_node partita status; done
  [ "$(since requests)" -eq 0 ]
}
until_true silent_now
well() {
  page /readyz
  # Not ready may pass.
  grep -qx 200 "$work/out" && grep -qxF "[+] cluster" "$work/out"
}
# No list says so: watches that go on for a while do.
until_true well
kill "${agent[it]}"
ended it 0
