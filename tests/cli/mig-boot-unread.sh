#!/usr/bin/env bash
# A GPU that cannot be read at boot is left alone and named; the others get their layout all the same.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
mkdir "$work/etc"
boot() { on_node partita mig boot --config-dir "$work/etc" "$@"; }
break_call() { partita-sim fault call "$call" --node "$node" --gpu 4 --fail UNKNOWN >/dev/null; }
mend() { partita-sim fault clear --node "$node" --all >/dev/null; }

up dgx-a100-40
run 0 on_node partita mig apply --gpu 3 --gpu 4 --gpu 5 --want 3g.20gb:2
for call in nvmlDeviceGetMigMode nvmlDeviceGetGpuInstances; do
  partita-sim reboot --node "$node" >/dev/null
  break_call
  run 1 boot
  complains "what was applied last is in force, except: GPU 4: " "$call: Unknown Error"
  ! grep -q "is gone" "$work/err" || fail "it is there"
  run 0 on_node partita mig assert --gpu 3 --gpu 5 --want 3g.20gb:2
  mend
  run 3 on_node partita mig assert --gpu 4 --want 3g.20gb:2
  # It was not forgotten.
  run 0 boot
  run 0 on_node partita mig assert --gpu 4 --want 3g.20gb:2
done

# What is selected, by name or from what these GPUs can be, with modes to change.
cat >"$work/etc/config.yaml" <<'YAML'
version: v1
mig-configs:
  some: [{devices: [4, 5, 6], mig-enabled: true, mig-devices: {1g.5gb: 7}}]
  others: [{devices: [5, 6], mig-enabled: true, mig-devices: {2g.10gb: 3}}]
  wrong: [{devices: [4, 5], mig-enabled: true, mig-devices: {5g.20gb: 1}}]
YAML
break_call
run 1 boot --selected-config some
complains '"some" is in force, except: GPU 4: ' "$call: Unknown Error"
run 0 on_node partita mig assert --gpu 5 --gpu 6 --want 1g.5gb:7
run 0 boot --selected-config others # is none of its business
run 2 boot --selected-config wrong
complains "config.yaml:5" "5g.20gb"
rm "$work/etc/config.yaml"
run 1 boot --selected-config all-7g.40gb
complains '"all-7g.40gb" is in force, except: GPU 4: '
run 0 on_node partita mig assert --gpu 0 --gpu 1 --gpu 2 --gpu 3 --gpu 5 --gpu 6 --gpu 7 --want 7g.40gb
mend
run 0 on_node partita mig assert --gpu 4 --want 3g.20gb:2

# One that fell off the bus and is meant by name.
cat >"$work/etc/config.yaml" <<'YAML'
version: v1
mig-configs:
  some: [{devices: [4, 5], mig-enabled: true, mig-devices: {1g.5gb: 7}}]
YAML
partita-sim fault lost --node "$node" --gpu 4 >/dev/null
run 1 boot --selected-config some
complains '"some" is in force, except: ' "GPU 4 cannot be configured"
run 0 on_node partita mig assert --gpu 5 --want 1g.5gb:7
