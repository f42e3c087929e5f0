#!/usr/bin/env bash
# Another vendor's device does not wait for NVIDIA's driver: it is injected where none is loaded, whoever asks for it and
# however, and one that no file has keeps the container from being created. NVIDIA's own are left out, with a note.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
[ ! -e /proc/driver/nvidia ] || { echo "SKIPPED: a driver is loaded here"; exit 77; }
mkdir "$work/cdi"
cat >"$work/cdi/vendor.json" <<'END'
{"cdiVersion": "0.5.0", "kind": "vendor.com/net", "devices": [{"name": "eth0", "containerEdits": {
  "deviceNodes": [{"path": "/dev/vendor0", "hostPath": "/dev/null"}],
  "hooks": [{"hookName": "createContainer", "path": "/bin/vendor", "args": ["vendor"], "env": ["A=b"]}]}}]}
END
modes() { printf '[nvidia-container-runtime.modes.cdi]\nspec-dirs = ["%s"]\n%s\n' "$work/cdi" "${1:-}" >"$NVIDIA_CTK_CONFIG_FILE_PATH"; }
modes
annotated() { MORE=",\"annotations\":{\"cdi.k8s.io/x\":\"$1\"}" bundle; }
injected() {
  run 0 create
  forwarded
  has "$nodes" /dev/vendor0 '[h["args"][0] for h in it["hooks"]["createContainer"]]' "['vendor']"
}

annotated vendor.com/net=eth0
injected
silent err
cp "$config" "$work/once"
injected
cmp "$work/once" "$config" || fail "edited again it is another"
bundle NVIDIA_VISIBLE_DEVICES=vendor.com/net=eth0
injected
bundle NVIDIA_VISIBLE_DEVICES=vendor.com/net=eth0
RUNTIME=nvidia-container-runtime.cdi injected
annotated vendor.com/net=eth0,nvidia.com/gpu=0
injected
complains "nvidia-container-runtime: warning: no NVIDIA driver is loaded: nvidia.com/gpu=0 is left out"
modes 'default-kind = "vendor.com/net"'
bundle NVIDIA_VISIBLE_DEVICES=eth0
RUNTIME=nvidia-container-runtime.cdi injected
modes

wrong="could not apply required modification to OCI specification"
annotated vendor.com/net=eth9
run 1 create
complains "$wrong: failed to inject CDI devices: unresolvable CDI devices vendor.com/net=eth9"
refused
bundle NVIDIA_VISIBLE_DEVICES=vendor.com/net=eth0
RUNTIME=nvidia-container-runtime.legacy run 1 create
complains "$wrong: vendor.com/net=eth0: mode legacy has no devices of other vendors" "hint: "
refused
# Annotations are for mode cdi alone, and NVIDIA's devices wait.
annotated vendor.com/net=eth0
RUNTIME=nvidia-container-runtime.legacy run 0 create
forwarded
untouched
annotated nvidia.com/gpu=0
run 0 create
forwarded
untouched
complains "no NVIDIA driver is loaded: $work/bin/runc is called directly"
