#!/usr/bin/env bash
# Where the engine or its version does not take CDI devices, nothing is offered and why is told, unless somebody chose how
# pods get their GPUs; once it takes them, everything is offered.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
fix='on the node run `partita runtime configure --runtime containerd --enable-cdi` and restart containerd'
ready_says() { [[ $(python3 -B "$source_root/tests/cli/http_get.py" "$http" /readyz) == *"$1"* ]]; }

start_engine containerd 1.7.24 '{"enableCDI": false}'
start_kubelet
start_agent it
await it STATUS=*CdiDisabled*
until_true ready_says "[-] device plugin: CdiDisabled: containerd 1.7.24 has CDI switched off: $fix"
logged it "not offered to kubelet" "CdiDisabled"
if grep -q '"registered"' "$work/kubelet.log"; then fail "something was offered"; fi

# Chosen, it is obeyed, whatever comes of it; no longer chosen, it goes again.
echo "$good_config
devicePlugin: {config: {version: v1, flags: {plugin: {deviceListStrategy: cdi-cri}}}}" >"$PARTITA_CONFIG_FILE"
until_counted nvidia.com/gpu "8 of 8"
until_true ready_says "[+] device plugin"
echo "$good_config" >"$PARTITA_CONFIG_FILE"
until_counted nvidia.com/gpu "0 of 8"

# Mended, and kubelet started anew: at once.
start_engine containerd 1.7.24 '{"enableCDI": true}'
start_kubelet
until_counted nvidia.com/gpu "8 of 8"
until_true ready_says "[+] device plugin"
