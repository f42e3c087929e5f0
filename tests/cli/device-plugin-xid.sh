#!/usr/bin/env bash
# An XID that is called fatal makes the shares of what it names unhealthy to kubelet, those of a compute instance or of a
# whole GPU instance, and no share of anything else under any resource; they are back when its cause is gone.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

gpu=nvidia.com/gpu slice=nvidia.com/mig-1g.5gb pair=nvidia.com/mig-2g.10gb
up dgx-a100-40
run 0 on_node partita mig apply --gpu 0 --want 1g.5gb:2 --yes
run 0 on_node partita mig apply --gpu 1 --want 1g.5gb,2g.10gb:2 --yes
agent_on=(partita-sim run --node "$node" --)
cat >>"$PARTITA_CONFIG_FILE" <<YAML
health: {xids: {31: reset}}
devicePlugin:
  config:
    version: v1
    flags: {migStrategy: mixed}
    sharing:
      timeSlicing:
        resources: [{name: $gpu, replicas: 2}, {name: $slice, replicas: 2}, {name: $pair, replicas: 2}]
YAML
start_kubelet
start_agent it
await it READY=1
until_counted "$gpu" "12 of 12"
until_counted "$slice" "6 of 6"
until_counted "$pair" "4 of 4"

run 0 on_node partita health -o json
cp "$work/out" "$work/devices"
# devices GPU PROFILE: "UUID GPU-INSTANCE COMPUTE-INSTANCE" of each such device of that GPU, a line each.
devices() {
  python3 -c 'import json, sys
of = json.load(open(sys.argv[1]))["devices"]
boards = sorted({one["pci"] for one in of})
for one in of:
    if one["pci"] == boards[int(sys.argv[2])] and one.get("profile") == sys.argv[3]:
        print(one["mig"], one["gpuInstance"], one["computeInstance"])' "$work/devices" "$@"
}
# shares UUID…
shares() { for uuid in "$@"; do printf '%s::0\n%s::1\n' "$uuid" "$uuid"; done | sort; }
unhealthy() { for resource in "$gpu" "$slice" "$pair"; do ids "$resource" unhealthy; done | sort; }
# ill_alone SHARE…: kubelet has these as unhealthy, and no others.
ill_alone() { [ "$(unhealthy)" = "$*" ]; }
# strike GPU GI [ARGUMENT…]: until events are waited for, nobody hears it.
strike() {
  local number=$1 instance=$2
  shift 2
  until [ -n "$(unhealthy)" ]; do
    run 0 partita-sim fault xid 31 --gpu "$number" --gi "$instance" "$@" --node "$node"
    run 0 on_node partita status
    [ "$SECONDS" -lt 50 ] || fail "the XID was not heard"
  done
}
# hold GPU GI CI: what runs there keeps the XID's cause alive.
hold() { run 0 partita-sim workload start --detach --gpu "$1" --mig "$2:$3" --memory 1GiB --node "$node" -- sleep 600; }

read -r uuid instance compute < <(devices 0 1g.5gb | head -n 1)
hold 0 "$instance" "$compute"
strike 0 "$instance" --ci "$compute"
until_true ill_alone "$(shares "$uuid")"
run 3 on_node partita health
ill_alone "$(shares "$uuid")" || fail "others are unhealthy: $(unhealthy)"
run 0 partita-sim workload stop --all --node "$node"
until_true ill_alone ""

read -r uuid instance compute < <(devices 1 2g.10gb | head -n 1)
hold 1 "$instance" "$compute"
strike 1 "$instance"
until_true ill_alone "$(shares "$uuid")"
run 3 on_node partita health
ill_alone "$(shares "$uuid")" || fail "others are unhealthy: $(unhealthy)"
run 0 partita-sim workload stop --all --node "$node"
until_true ill_alone ""
