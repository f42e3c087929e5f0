#!/usr/bin/env bash
# A node that the agent has left for good: its GPUs get the compute modes back that they had before MPS.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
source "$(dirname "$0")/mps_common.sh"
restore() { run "$1" on_node partita mps restore "${@:2}"; }
restore 0
shows "no GPU is exclusive for MPS since this boot"

run 0 on_node nvidia-smi -i 1 -c PROHIBITED
echo "$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    sharing: {mps: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.mps, replicas: 2, devices: [0, 1, 2]}]}}" \
  >"$PARTITA_CONFIG_FILE"
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu.mps "6 of 6"
is "$(modes)" "Exclusive_Process Exclusive_Process"
# One that runs has them for its shares.
restore 4
complains "an agent runs on this node" "systemctl stop partita-agent"
is "$(modes)" "Exclusive_Process Exclusive_Process"
kill -9 "${agent[it]}"
ended it 137
unset "agent[it]"
# Its daemons outlive it, below the root that it wrote down.
restore 4
complains "the MPS control daemon of GPU-" "still runs" "partita-mps-*"
# Also where no record tells of them.
for record in "$root"/GPU-*/domain.json; do
  rm -f "$record.bak"
  mv "$record" "$record.away"
done
restore 4
complains "an MPS control daemon has the sockets in $root/GPU-" "there is no $root/GPU-" "/domain.json" "partita-mps-*" \
  "nvidia-cuda-mps-control.pid has its number"
for record in "$root"/GPU-*; do echo damaged >"$record/domain.json"; done
restore 4
complains "an MPS control daemon has the sockets in $root/GPU-" "/domain.json was damaged"
for record in "$root"/GPU-*; do mv "$record/domain.json.away" "$record/domain.json"; done
is "$(modes)" "Exclusive_Process Exclusive_Process"
end_daemons
until_true daemons_gone
# Where processes have other numbers all of them would seem to have ended.
run 4 on_node unshare --pid --fork partita mps restore
complains "MPS control daemons may still run" "$PARTITA_STATE_DIR/mps-modes" "PID namespace pid:[" "hostPID"
is "$(modes)" "Exclusive_Process Exclusive_Process"

# One that starts has them soon, and is not reached yet: its driver does not answer.
run 0 partita-sim fault call nvmlSystemGetDriverVersion --hang --node "$node"
start_agent slow
until_logged slow "agent starting"
until_true grep -q "partita agent" "$PARTITA_RUN_DIR/agent.lock"
restore 4 --mps-root "$root"
complains "an agent runs on this node" "systemctl stop partita-agent"
is "$(modes)" "Exclusive_Process Exclusive_Process"
kill -9 "${agent[slow]}"
ended slow 137
unset "agent[slow]"
run 0 partita-sim fault clear --all --node "$node"
# It has two locks, wherever it is reached.
exec {held}<"$PARTITA_STATE_DIR"
flock "$held"
restore 4 --mps-root "$root"
complains "an agent runs on this node (an agent that is reached elsewhere and keeps its state in $PARTITA_STATE_DIR)"
exec {held}<&-
exec {held}<"$PARTITA_RUN_DIR/agent.lock"
flock "$held"
restore 4 --mps-root "$root"
complains "an agent runs on this node (a process that has not said who it is)"
exec {held}<&-
is "$(modes)" "Exclusive_Process Exclusive_Process"

kept=$work/host$PARTITA_STATE_DIR
mkdir -p "$kept"
cp "$PARTITA_STATE_DIR/mps-modes" "$kept"
uuid() { on_node nvidia-smi -i "$1" --query-gpu=uuid --format=csv,noheader; }

# What the driver refuses is told, and done by the next call.
run 0 partita-sim fault call nvmlDeviceSetComputeMode --fail NO_PERMISSION --node "$node"
restore 1
complains "$(uuid 0) is not put back: " "$(uuid 1) is not put back: " "nvmlDeviceSetComputeMode"
is "$(modes)" "Exclusive_Process Exclusive_Process"
run 0 partita-sim fault clear --all --node "$node"
run 0 on_node nvidia-smi -i 2 -c PROHIBITED
restore 0
shows "$(uuid 0): default again" "$(uuid 1): prohibited again" "$(uuid 2): stays as it is, somebody else has set its mode"
is "$(modes)" "Default Prohibited"
restore 0
shows "no GPU is exclusive for MPS since this boot"

# As in a pod, with the host below a folder; and after a boot there is nothing to do.
run 0 on_node nvidia-smi -i 0 -c EXCLUSIVE_PROCESS
of_another_boot "$kept/mps-modes" >"$kept/other"
cp "$kept/mps-modes" "$work/this"
mv "$kept/other" "$kept/mps-modes"
restore 0 --host-root "$work/host"
shows "no GPU is exclusive for MPS since this boot"
is "$(modes)" "Exclusive_Process Prohibited"
cp "$work/this" "$kept/mps-modes"
restore 0 --host-root "$work/host"
shows "$(uuid 0): default again"
is "$(modes)" "Default Prohibited"
