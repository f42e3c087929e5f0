#!/usr/bin/env bash
# MPS daemons of a runner beside the agent, as the chart has them: shares are good as soon as a runner is there, an agent
# in a container needs nothing else, whoever is killed leaves the daemons alone, and a runner that hangs holds up nobody.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
chmod 755 "$work"
root=$work/mps
# As where the agent is in a container and has the host's files below another root.
ln -s / "$work/host"
agent_on=(partita-sim run --node "$node" --)
mps_config="${good_config/node: \{/node: \{hostRoot: $work/host, }
mps: {root: $root, runner: pod}
devicePlugin:
  config:
    version: v1
    sharing:
      mps: {resources: [{name: nvidia.com/gpu, rename: nvidia.com/gpu.mps, replicas: 2, devices: [0, 1]}]}"
echo "$mps_config" >"$PARTITA_CONFIG_FILE"

# First agents and runners, which would start daemons again.
runners=()
end_daemons() {
  for name in "${!agent[@]}"; do kill -9 "${agent[$name]}" 2>/dev/null; done
  for pid in "${runners[@]}"; do kill -9 "$pid" 2>/dev/null; done
  for pid in $(grep -lsz "^CUDA_MPS_PIPE_DIRECTORY=$root/" /proc/[0-9]*/environ | cut -d/ -f3); do
    kill -9 "$pid" 2>/dev/null
  done
  return 0
}
on_exit=(end_daemons "${on_exit[@]}")
# start_runner NAME: its pid is $runner.
start_runner() {
  "${agent_on[@]}" partita mps-runner --root "$root" 2>"$work/$1.log" &
  runner=$!
  runners+=("$runner")
}
is() { [ "$1" = "$2" ] || fail "\"$1\", not \"$2\""; }
gone() { ! kill -0 "$1" 2>/dev/null; }
daemons() { for gpu in "${gpus[@]}"; do echo "$(cat "$root/$gpu/pipe/nvidia-cuda-mps-control.pid")"; done | paste -sd' '; }
mounts() { grep -c " $root/[^ ]*/shm tmpfs " "/proc/$runner/mounts" || true; }
# until_replaced FIRST SECOND: the first daemon by another, the second not, and all shares are good.
is_replaced() { [ "$(daemons)" != "$1 $2" ] && has_counted nvidia.com/gpu.mps "4 of 4"; }
until_replaced() {
  until_true gone "$1"
  until_true is_replaced "$1" "$2"
  is "$(daemons | cut -d' ' -f2)" "$2"
}
parent() { ps -o ppid= -p "$1" | tr -d ' '; }

# Nobody listens: shares are not good, and it is said what is missing.
start_kubelet
start_agent it
await it READY=1
until_counted nvidia.com/gpu "6 of 6"
until_counted nvidia.com/gpu.mps "0 of 4"
until_logged it "no MPS runner answers at $PARTITA_RUN_DIR/mps.sock: see to its pod"

# One comes: no restart, nothing to be asked for.
start_runner first
until_counted nvidia.com/gpu.mps "4 of 4"
mapfile -t gpus < <(ids nvidia.com/gpu.mps | sed 's/::.*//' | sort -u)
is "${#gpus[@]}" 2
is "$(stat -c '%a %U' "$PARTITA_RUN_DIR/mps.sock")" "600 root"
before=$(daemons)
is "$(parent "${before% *}")" "$runner"
is "$(mounts)" 2
is "$(on_node env CUDA_MPS_PIPE_DIRECTORY="$root/${gpus[0]}/pipe" \
  "$PARTITA_BIN/partita-sim-cuda-client" context alloc 60G alloc 20G | paste -sd'|')" \
  "init: 0 no error|context: 0 no error|alloc 60G: 0 no error|alloc 20G: 2 out of memory"

# Nobody else is answered, and root gets nothing else done.
# said METHOD PARAMS: asked past any agent.
said() {
  PYTHONPATH=$source_root/tests/support python3 -B - "$PARTITA_RUN_DIR/mps.sock" "$@" <<'PY'
import json, sys
from control_socket import Control
print(Control(sys.argv[1]).call(sys.argv[2], **json.loads(sys.argv[3])))
PY
}
run 1 said mps.ask "{\"pipe\": \"$root/../pipe\", \"command\": \"get_server_list\"}"
complains "the MPS runner does not take"
run 1 said mps.ask "{\"pipe\": \"$root/${gpus[0]}/pipe\", \"command\": \"get_server_list\\nquit\"}"
complains "the MPS runner does not take"
run 1 said mps.exec '{"program": "/bin/sh"}'
complains "the MPS runner has no method"
run 0 said mps.ask "{\"pipe\": \"$root/${gpus[0]}/pipe\", \"command\": \"get_default_active_thread_percentage\"}"
shows "50.0"

# An agent that is killed: the next one knows both daemons again.
kill -9 "${agent[it]}"
ended it 137
start_kubelet
start_agent next
await next READY=1
until_counted nvidia.com/gpu.mps "4 of 4"
is "$(daemons)" "$before"
is "$(grep -c "MPS domain adopted" "$work/next.log")" 2

# A runner that ends in order leaves its daemons. An agent that starts then does not take them for dead.
kill -TERM "$runner"
wait "$runner"
[ ! -e "$PARTITA_RUN_DIR/mps.sock" ] || fail "its socket is there"
kill -9 "${agent[next]}"
ended next 137
start_kubelet
start_agent third
await third READY=1
until_counted nvidia.com/gpu.mps "0 of 4"
until_logged third "no MPS runner answers at"
start_runner second
until_counted nvidia.com/gpu.mps "4 of 4"
is "$(daemons)" "$before"
is "$(grep -c "MPS domain adopted" "$work/third.log")" 2

# What dies while no runner is there is started by the next, and the other one is left alone.
kill -TERM "$runner"
wait "$runner"
kill -9 "${before% *}"
until_counted nvidia.com/gpu.mps "2 of 4"
start_runner third-runner
until_counted nvidia.com/gpu.mps "4 of 4"
again=$(daemons)
is "${again#* }" "${before#* }"
# It waits for those that were its own.
is "$(parent "${again% *}")" "$runner"
kill -9 "${again% *}"
until_replaced "${again% *}" "${again#* }"

# A daemon that hangs keeps the other's from nothing.
again=$(daemons)
kill -STOP "${again#* }"
on_exit=("kill -CONT ${again#* } 2>/dev/null" "${on_exit[@]}")
said mps.ask "{\"pipe\": \"$root/${gpus[1]}/pipe\", \"command\": \"get_server_list\"}" >/dev/null 2>&1 &
hung=$!
kill -9 "${again% *}"
until_replaced "${again% *}" "${again#* }"
kill -CONT "${again#* }"
wait "$hung" || true

# A runner that hangs: the agent answers everybody, and ends when it is told to.
kill -STOP "$runner"
on_exit=("kill -CONT $runner 2>/dev/null" "${on_exit[@]}")
again=$(daemons)
kill -9 "${again% *}"
until_counted nvidia.com/gpu.mps "2 of 4"
page /healthz
run 0 on_node partita status
kill -TERM "${agent[third]}"
ended third 0
kill -CONT "$runner"

# What nobody wants any more the runner's daemons end too, and their mounts.
start_kubelet
start_agent last
await last READY=1
until_counted nvidia.com/gpu.mps "4 of 4"
again=$(daemons)
[ "$(mounts)" -gt 0 ] || fail "the daemon that was started last has no tmpfs"
configure "${mps_config%%devicePlugin:*}"
ended_both() { gone "${again% *}" && gone "${again#* }" && [ "$(mounts)" = 0 ]; }
until_true ended_both

# Nothing is wanted by MPS any more, and no runner answers an agent that starts: its GPUs stay exclusive, and that is told.
health_is() {
  local status=0
  on_node partita health --width 400 >"$work/out" 2>"$work/err" || status=$?
  [ "$status" -eq "$1" ]
}
modes() { on_node nvidia-smi --query-gpu=compute_mode --format=csv,noheader | head -n 2 | paste -sd' '; }
modes_are() { [ "$(modes)" = "$1" ]; }
until_true health_is 0
configure "$mps_config"
until_counted nvidia.com/gpu.mps "4 of 4"
kill -TERM "$runner"
wait "$runner"
kill -9 "${agent[last]}"
ended last 137
configure "${mps_config%%devicePlugin:*}"
start_kubelet
start_agent lonely
await lonely READY=1
until_true health_is 3
for gpu in "${gpus[@]}"; do
  shows "MPS domain $gpu: gives no shares: no MPS runner answers at $PARTITA_RUN_DIR/mps.sock: see to its pod" \
    "MPS domain $gpu: its compute mode is not put back to what it was before MPS"
done
is "$(modes)" "Exclusive_Process Exclusive_Process"
start_runner fourth
until_true modes_are "Default Default"
until_true health_is 0
