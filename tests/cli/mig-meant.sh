#!/usr/bin/env bash
# What is for no GPU of the machine is an error, on or off, and GPUs that are passed over are named.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }

up dgx-a100-40
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  absent:
    - devices: [0, 42, GPU-00000000-0000-0000-0000-000000000000, "0000:fe:00.0"]
      mig-enabled: false
  others:
    - {device-filter: 0x1EB810DE, devices: all, mig-enabled: true, mig-devices: {}}
  others-off:
    - {device-filter: 0x1EB810DE, devices: all, mig-enabled: false}
  second-off:
    - {devices: [1], mig-enabled: false}
  off:
    - {devices: all, mig-enabled: false}
YAML
for verb in plan diff assert "apply --yes"; do
  run 2 on_node partita mig $verb -f "$work/mig.yaml" -c absent
  complains "mig.yaml:4:7:" "GPU 42 is not on this machine" "0000:fe:00.0 is not on this machine" \
    "GPU-00000000-0000-0000-0000-000000000000 is not on this machine" "partita mig show"
  for name in others others-off; do
    run 2 on_node partita mig $verb -f "$work/mig.yaml" -c "$name"
    complains "configuration \"$name\" is for no GPU of this machine" "partita mig show"
    silent out
  done
  run 2 on_node partita mig $verb -f "$work/mig.yaml" -c second-off --gpu 0
  complains 'configuration "second-off" is for no GPU that --gpu names'
done
run 0 on_node partita mig assert -f "$work/mig.yaml" -c absent --gpu 0
run 0 parted apply -f "$work/mig.yaml" -c absent # as the reference does

partita-sim fault lost --node "$node" --gpu 3 >/dev/null
run 0 on_node partita mig apply -f "$work/mig.yaml" -c off
complains "warning: GPU 3 is left out: fell off the bus"
[ "$(grep -c "GPU 3" "$work/err")" -eq 1 ] || fail "it is told more than once"
run 0 on_node partita mig assert --want off
complains "warning: GPU 3 is left out"
partita-sim down --node "$node" --force >/dev/null 2>&1

grep -v "product: A100" "$source_root/data/nodes/mixed.yaml" >"$work/old.yaml"
partita-sim up --file "$work/old.yaml" --node old >/dev/null
on_exit+=("partita-sim down --node old --force >/dev/null 2>&1")
node=old
for verb in assert "apply --yes"; do
  run 2 on_node partita mig $verb --want none
  complains "--want is for no GPU of this machine that can do MIG"
  # There it is off.
  run 0 on_node partita mig $verb --want off
  run 0 on_node partita mig $verb -f "$work/mig.yaml" -c off
done
# Nobody can tell what those that are lost are.
partita-sim fault lost --node old --gpu all >/dev/null
for verb in assert "apply --yes"; do
  run 1 on_node partita mig $verb --want off
  complains "no GPU that --want is for can be read" "GPU 0: fell off the bus"
done
