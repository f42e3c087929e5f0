#!/usr/bin/env bash
# A GPU of which the driver does not tell everything is no empty GPU: nothing is said to be applied,
# written down or changed by what is missing.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }

up dgx-a100-40
run 0 on_node partita mig apply --gpu 4 --want 3g.20gb:2 --yes
run 0 on_node partita mig checkpoint -f "$work/before.json"
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  none: [{devices: [4], mig-enabled: true, mig-devices: {}}]
  all-off: [{devices: all, mig-enabled: false}]
YAML

break_call() { partita-sim fault call "$call" --node "$node" --gpu 4 "$@" >/dev/null; }
mend() { partita-sim fault clear --node "$node" --all >/dev/null; }
# refused STATUS COMMAND…: for the call that fails, which is named.
refused() {
  run "$@"
  cat "$work/err" >>"$work/out"
  shows "GPU 4" "$call: Unknown Error"
}

for call in nvmlDeviceGetMigMode nvmlDeviceGetGpuInstanceProfileInfoV \
  nvmlDeviceGetGpuInstancePossiblePlacements_v2 nvmlDeviceGetGpuInstances nvmlGpuInstanceGetInfo \
  nvmlGpuInstanceGetComputeInstanceProfileInfo nvmlGpuInstanceGetComputeInstances \
  nvmlComputeInstanceGetInfo_v2; do
  break_call --fail UNKNOWN
  refused 1 on_node partita mig assert --gpu 4 --want none
  refused 1 on_node partita mig apply --gpu 4 --want off --yes
  refused 1 parted apply -f "$work/mig.yaml" -c none
  refused 1 on_node partita mig export
  mend
done

for call in nvmlDeviceGetMigMode nvmlDeviceGetGpuInstances; do
  break_call --fail UNKNOWN
  refused 1 on_node partita mig assert --want off
  refused 1 on_node partita mig assert -f "$work/mig.yaml" -c all-off
  refused 1 on_node partita mig diff --gpu 4 --want none
  refused 1 on_node partita mig plan --gpu 4 --want none
  refused 1 on_node partita mig checkpoint -f "$work/after.json"
  refused 1 on_node partita mig restore -f "$work/before.json" --yes
  refused 1 on_node partita mig boot
  refused 0 on_node partita mig show --gpu 4 --width 200
  refused 1 parted assert -f "$work/mig.yaml" -c none
  refused 1 parted assert -f "$work/mig.yaml" -c all-off
  refused 1 parted export
  refused 1 parted checkpoint -f "$work/after.json"
  [ ! -e "$work/after.json" ] || fail "a checkpoint was written"
  run 0 on_node partita mig apply --gpu 5 --want 7g.40gb --yes # is none of its business
  mend
done
run 0 on_node partita mig assert --gpu 4 --want 3g.20gb:2
run 0 on_node partita mig boot
run 0 on_node partita mig assert --gpu 4 --want 3g.20gb:2

# Who uses a GPU matters only where something would go.
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 4 --mig 1 --memory 1GiB -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r pid <"$work/started"
on_exit+=("kill $pid 2>/dev/null")
run 0 on_node partita mig export
cp "$work/out" "$work/before"
for call in nvmlDeviceGetComputeRunningProcesses_v2 nvmlDeviceGetGraphicsRunningProcesses_v2 \
  nvmlDeviceGetMPSComputeRunningProcesses_v2; do
  break_call --fail UNKNOWN
  refused 4 on_node partita mig apply --gpu 4 --want 3g.20gb:1,2g.10gb --yes --width 200
  refused 1 parted apply -f "$work/mig.yaml" -c none
  run 0 on_node partita mig apply --gpu 4 --want 3g.20gb:2 --yes
  mend
done
call=nvmlDeviceGetComputeRunningProcesses_v2
break_call --hang
run 4 on_node partita mig plan --gpu 4 --want off --width 200
shows "who uses it cannot be read" "$call did not come back"
mend
run 0 on_node partita mig export
cmp "$work/before" "$work/out" || fail "something was changed"
echo >"$work/end"
wait
