#!/usr/bin/env bash
# An agent whose device plugin is configured by the node's label: `partita config show --origin` says what is in force
# and why, the control plane is told where a mistake is, and a restart keeps what was good.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/config_api_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
slices="version: v1
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 4}
"
start_api
config_map whole "version: v1" ts4 "$slices"
label ts4
good_config="$good_config
node: {name: n1, kubeconfig: $kubeconfig}
devicePlugin: {configMap: gpu/plugin, default: whole}"
configure "$good_config"
start_agent first
await first 'READY=1*'

# condition STATUS TEXT: what the Node's condition says, as soon as it does.
condition() {
  local end=$((SECONDS + 60))
  while [ "$SECONDS" -lt "$end" ]; do
    speak_api get "$api" /api/v1/nodes/n1 >"$work/node.json"
    ! python3 - "$work/node.json" "$@" <<'PY' || return 0
import json, sys
found = {each["type"]: each for each in json.load(open(sys.argv[1])).get("status", {}).get("conditions", [])}
said = found.get("partita.dev/GPUConfigApplied", {})
sys.exit(not (said.get("status") == sys.argv[2] and sys.argv[3] in said.get("message", "")))
PY
  done
  cat "$work/node.json" "$work/first.log" >&2
  fail "the condition is never $1 with: $2"
}
origin() { grep -qE "^$1 +$2 +$3\$" "$work/out" || fail "$1 is not $2 from $3"; }

condition True "configmap/gpu/plugin/ts4 is in force (node label nvidia.com/device-plugin.config=ts4)"
# Labels are those of the configuration that is in force.
shared_by() { speak_api get "$api" /api/v1/nodes/n1 | grep -q "\"nvidia.com/gpu.replicas\": \"$1\""; }
until_true shared_by 4
run 0 on_node partita config show --origin
origin devicePlugin.label ts4 "label nvidia.com/device-plugin.config"
origin devicePlugin.selected ts4 label
grep -qE "^devicePlugin.config.sharing.timeSlicing.* configmap/gpu/plugin/ts4:3:3$" "$work/out" || fail "no origin of a value"
run 0 on_node partita config show --origin -o json
cp "$work/out" "$work/origins.json"
by_schema config-v1 "$work/origins.json"

label ""
condition True "configmap/gpu/plugin/whole is in force (default)"
label tsl4
condition False 'node label nvidia.com/device-plugin.config: no configuration in configmap/gpu/plugin is called "tsl4" (did you mean "ts4"?)'
run 0 on_node partita config show --origin
origin devicePlugin.label tsl4 "label nvidia.com/device-plugin.config"
origin devicePlugin.selected whole default
grep -q "^devicePlugin.rejected .*is called \"tsl4\"" "$work/out" || fail "what was passed over is not shown"
page /readyz
shows '200' "[+] config (the last good one is in force: node label"

# A mistake in the ConfigMap has its place; so has an Event.
label ts4
condition True ts4
config_map whole "version: v1" ts4 "version: v1
flags: {migStrategy: mixt}"
condition False "configmap/gpu/plugin/ts4:2:22: expected none, single or mixed"
until_event() {
  local end=$((SECONDS + 60))
  while [ "$SECONDS" -lt "$end" ]; do
    speak_api get "$api" /apis/events.k8s.io/v1/namespaces/default/events >"$work/events.json"
    ! grep -q "$1" "$work/events.json" || return 0
  done
  cat "$work/events.json" >&2
  fail "no Event says: $1"
}
until_event "configmap/gpu/plugin/ts4:2:22"
run 0 on_node partita config show --origin
grep -q "^devicePlugin.rejected .*configmap/gpu/plugin/ts4:2:22: expected none, single or mixed" "$work/out" ||
  fail "the place of the mistake is not shown"
grep -qE "^devicePlugin.config.sharing.timeSlicing.* configmap/gpu/plugin/ts4:3:3$" "$work/out" || fail "the last good one is not in force"

# The other label: a file that is laid over config.yaml.
mkdir "$work/overlays"
printf 'version: partita/v1\nlog: {level: warn}\n' >"$work/overlays/quiet.yaml"
speak_api put "$api" /api/v1/nodes/n1 '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels":
  {"nvidia.com/device-plugin.config": "ts4", "partita.dev/config": "quiet"}}}'
quiet() { on_node partita config show --origin >"$work/out" && grep -qE "^overlay +quiet +label partita.dev/config$" "$work/out"; }
until_true quiet
run 0 on_node partita config show --origin
origin log.level warn "$work/overlays/quiet.yaml:2:14"
label ts4

# Over a restart, and with the ConfigMap gone.
speak_api delete "$api" /api/v1/namespaces/gpu/configmaps/plugin
condition False "configmap/gpu/plugin is not there"
kill -TERM "${agent[first]}"
ended first 0
start_agent second
await second 'READY=1*'
run 0 on_node partita config show --origin
origin devicePlugin.selected ts4 label
grep -qE "^devicePlugin.config.sharing.timeSlicing.* configmap/gpu/plugin/ts4:3:3$" "$work/out" || fail "the last good one is not in force"
page /readyz
shows 200
