#!/usr/bin/env bash
# A specification of a machine's GPUs: devices under each name, nodes, the driver's files and hooks; the same bytes
# each time, and a file that has them is left alone.
source "$(dirname "$0")/common.sh"

up h200-vm
hook=/usr/bin/nvidia-cdi-hook
run 0 on_node partita cdi generate --hook-path $hook
silent err
shows "kind: nvidia.com/gpu" '    - name: "0"' "    - name: GPU-" "    - name: all" "path: /dev/nvidia0" \
  "path: /dev/nvidiactl" "/libcuda.so.580.159.04" "containerPath: /usr/bin/nvidia-smi" \
  "- NVIDIA_VISIBLE_DEVICES=void" "path: $hook" "- update-ldcache" "- --host-driver-version=580.159.04"
cp "$work/out" "$work/first"
run 0 on_node partita cdi generate --hook-path $hook
cmp "$work/out" "$work/first" || fail "the second is another"

file=$work/cdi/nvidia.yaml
run 0 on_node partita cdi generate --hook-path $hook "$file"
silent out
cmp "$file" "$work/first" || fail "the file is another than what was printed"
[ "$(stat -c %a "$file")" = 644 ] || fail "mode $(stat -c %a "$file")"
before=$(stat -c '%i %Y' "$file")
run 0 on_node partita cdi generate --hook-path $hook "$file"
[ "$(stat -c '%i %Y' "$file")" = "$before" ] || fail "it was written though nothing changed"

# By one name only, one device only, as JSON.
run 0 on_node partita cdi generate --device-name-strategy type-index --device-id 0 --no-all-device -o json
shows '"cdiVersion":"0.3.0"' '"devices":[{"name":"gpu0"'
grep -q '"all"' "$work/out" && fail "there is a device all"
run 0 on_node partita cdi generate --disable-hook all
grep -q hooks "$work/out" && fail "there are hooks"
run 0 on_node partita cdi generate --device-id none
shows "name: none" "NVCT_EMPTY_DEVICE="

# The driver of a driver container: its root is on the host's side alone.
run 0 on_node partita cdi generate --driver-root /run/partita-sim
shows "hostPath: /run/partita-sim/dev/nvidia0" "hostPath: /run/partita-sim/usr/bin/nvidia-smi" \
  "containerPath: /usr/bin/nvidia-smi"
run 0 on_node partita cdi generate --driver-root /run/partita-sim --dev-root /
grep -q "hostPath: /run/partita-sim/dev" "$work/out" && fail "nodes have the driver's root"

# Whoever manages the node gets every node, without asking the driver.
run 0 on_node partita cdi generate --mode management --vendor management.nvidia.com
shows "kind: management.nvidia.com/gpu" "path: /dev/nvidia-caps/nvidia-cap1"
