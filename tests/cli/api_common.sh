# Sourced by scripts that have an API server (tests/support/fake_api.py), after agent_common.sh. It is reached by
# $kubeconfig; `api` asks it as the administrator would.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=api \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$work/api.key" -out "$work/api.pem" 2>/dev/null
mkfifo "$work/api.stdin"
exec {api_fd}<>"$work/api.stdin"
exec {api_port_fd}< <(exec "$source_root/tests/support/fake_api.py" "$work/api.pem" "$work/api.key" token <"$work/api.stdin")
on_exit+=("kill $!")
{ read -r -t 30 api_port && read -r -t 30 administrators_port; } <&"$api_port_fd" || fail "no API server"
kubeconfig=$work/kubeconfig
cat >"$kubeconfig" <<YAML
current-context: a
contexts: [{name: a, context: {cluster: a, user: a, namespace: gpu}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:$api_port", certificate-authority: $work/api.pem}}]
users: [{name: a, user: {token: token}}]
YAML

# api METHOD PATH [DOCUMENT]: prints the answer's document. What goes wrong there for others does not for the administrator.
api_token=token
api() {
  python3 -B - "https://127.0.0.1:$administrators_port$2" "$work/api.pem" "$1" "${3-}" "$api_token" <<'PY'
import ssl, sys, urllib.request
url, authority, method, document, token = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"}
request = urllib.request.Request(url, document.encode() or None, headers, method=method)
with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=authority)) as answer:
    print(answer.read().decode())
PY
}

node_path=/api/v1/nodes/gpu-1
# label KEY: of the Node; "none".
label() {
  api GET "$node_path" | python3 -c 'import json, sys
print(json.load(sys.stdin)["metadata"].get("labels", {}).get(sys.argv[1], "none"))' "$1"
}
has_label() { [ "$(label "$1")" = "$2" ]; }
# ours: of a Node or of `partita labels show -o json`, the labels that are ours, a line each.
ours() {
  python3 -c 'import json, sys
document = json.load(sys.stdin)
labels = document.get("labels") or document["metadata"]["labels"]
for key in sorted(labels):
    if key.split("/")[0] in ("nvidia.com", "partita.dev"):
        print(f"{key}={labels[key]}")'
}
