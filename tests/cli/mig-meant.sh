#!/usr/bin/env bash
# What is for no GPU of the machine is not applied, and GPUs that are passed over are named.
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
  off:
    - {devices: all, mig-enabled: false}
YAML
for verb in plan diff assert "apply --yes"; do
  run 2 on_node partita mig $verb -f "$work/mig.yaml" -c absent
  complains "mig.yaml:4:7:" "GPU 42 is not on this machine" "0000:fe:00.0 is not on this machine" \
    "GPU-00000000-0000-0000-0000-000000000000 is not on this machine" "partita mig show"
  run 1 on_node partita mig $verb -f "$work/mig.yaml" -c others
  complains "for no GPU of this machine that can do MIG"
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
run 1 on_node partita mig apply --want none --yes
complains "for no GPU of this machine that can do MIG"
run 0 on_node partita mig apply --want off --yes
