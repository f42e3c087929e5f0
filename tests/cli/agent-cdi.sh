#!/usr/bin/env bash
# The agent keeps the files by which containers get GPUs: there when it is ready, and as MIG is a moment after a
# change; what partita-hook is told beside them.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
spec=$PARTITA_CDI_DIR/nvidia.yaml
start_agent it
await it READY=1
grep -q '    - name: "0"' "$spec" || fail "no GPU in $(cat "$spec")"
grep -q '"apiVersion": "partita.dev/devices/v1"' "$PARTITA_RUN_DIR/devices.json" || fail "no devices.json"
by_schema devices-v1 "$PARTITA_RUN_DIR/devices.json"
page /readyz
shows "[+] cdi"

run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
until_true grep -q '    - name: "0:2"' "$spec"
grep -q '    - name: "0"$' "$spec" && fail "GPU 0 is there as a whole"
until_true grep -q '"slot": 2' "$PARTITA_RUN_DIR/devices.json"
# The same as a command says.
run 0 on_node partita cdi generate
cmp "$work/out" "$spec" || fail "the agent's file is another than the command's"

# Another configuration is another file, beside this one.
configure "$good_config
cdi: {management: true}"
management=$PARTITA_CDI_DIR/management.nvidia.com-gpu.yaml
until_true grep -qs "kind: management.nvidia.com/gpu" "$management"

# And no longer wanted, it goes.
configure "$good_config"
until_true test ! -e "$management"

# Without any device the old file stays, and somebody says so.
run 0 on_node partita mig apply --want none
until_logged it "CDI files are not up to date"
logged it "no device to describe: GPU 0 is in MIG mode and has no MIG device"
grep -q '    - name: "0:' "$spec" || fail "the old file is gone"
page /readyz
shows 200 "no device to describe"
kill "${agent[it]}"
ended it 0
[ -e "$spec" ] || fail "the file went with the agent"
