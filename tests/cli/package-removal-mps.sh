#!/usr/bin/env bash
# What the package does before it goes: GPUs that were made exclusive for MPS are as before.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
source "$(dirname "$0")/mps_common.sh"
run 0 on_node nvidia-smi -i 1 -c PROHIBITED
echo "$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    sharing: {mps: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.mps, replicas: 2, devices: [0, 1]}]}}" \
  >"$PARTITA_CONFIG_FILE"
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu.mps "4 of 4"
is "$(modes)" "Exclusive_Process Exclusive_Process"
end_daemons
ended it 137
until_true daemons_gone

kept=$work/debian/var/lib/partita
mkdir -p "$kept"
cp "$PARTITA_STATE_DIR/mps-modes" "$kept"
prerm() { run 0 on_node env DPKG_ROOT="$work/debian" sh "$source_root/debian/partita.prerm" "$@"; }
prerm upgrade 1.0
is "$(modes)" "Exclusive_Process Exclusive_Process"

# Not where the driver refuses: then it is kept what is still to be done.
run 0 partita-sim fault call nvmlDeviceSetComputeMode --fail NO_PERMISSION --node "$node"
prerm remove
complains "partita: GPU-" "is not put back" "nvmlDeviceSetComputeMode"
[ -s "$kept/mps-modes" ] || fail "what is not done yet is forgotten"
run 0 partita-sim fault clear --all --node "$node"

# Nor what somebody else changed, or of another boot.
of_another_boot "$PARTITA_STATE_DIR/mps-modes" >"$kept/mps-modes"
prerm remove
is "$(modes)" "Exclusive_Process Exclusive_Process"
cp "$PARTITA_STATE_DIR/mps-modes" "$kept"
prerm remove
is "$(modes)" "Default Prohibited"
[ ! -e "$kept/mps-modes" ] || fail "what is done is still to be done"
cp "$PARTITA_STATE_DIR/mps-modes" "$kept"
run 0 on_node nvidia-smi -i 0 -c PROHIBITED
prerm remove
is "$(modes)" "Prohibited Prohibited"
