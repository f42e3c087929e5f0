# Sourced by scripts with an API server, after common.sh. It is tests/support/fake_api.py; the real one is in e2e.
api=$work/api
kubeconfig=$api/kubeconfig

speak_api() { python3 -B "$source_root/tests/cli/api_server.py" "$@"; }

start_api() {
  local fd line
  exec {api_input}> >(exec python3 -B "$source_root/tests/cli/api_server.py" serve "$api" >"$work/api.said" 2>"$work/api.log")
  exec {fd}< <(exec timeout 60 tail -n +1 -F "$work/api.said" 2>/dev/null)
  on_exit+=("kill $!")
  IFS= read -r -t 60 line <&"$fd" || { cat "$work/api.log" >&2; fail "no API server"; }
  exec {fd}<&-
}

# label VALUE: of node n1, by the key that the device plugin's configuration has; empty: without it.
label() {
  local labels="{}"
  [ -z "$1" ] || labels="{\"nvidia.com/device-plugin.config\": \"$1\"}"
  speak_api put "$api" /api/v1/nodes/n1 \
    "{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"n1\", \"labels\": $labels}}"
}

# config_map NAME TEXT…: the ConfigMap gpu/plugin has these.
config_map() {
  speak_api put "$api" /api/v1/namespaces/gpu/configmaps/plugin "$(python3 - "$@" <<'PY'
import json, sys
words = sys.argv[1:]
print(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plugin", "namespace": "gpu"},
                  "data": dict(zip(words[::2], words[1::2]))}))
PY
)"
}
