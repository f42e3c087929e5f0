#!/usr/bin/env bash
# A MIG device that is shared by MPS and destroyed takes the directory of its daemon with it; that of its neighbour stays, and
# so does that of a GPU.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up hgx-h200
source "$(dirname "$0")/mps_common.sh"
run 0 on_node partita mig apply --gpu 1 --want 3g.71gb,2g.35gb
echo "$good_config
mps: {root: $root, runner: child}
devicePlugin:
  config:
    version: v1
    flags: {migStrategy: mixed}
    sharing:
      mps:
        resources:
        - {name: nvidia.com/gpu, rename: nvidia.com/gpu.mps, replicas: 2, devices: [0]}
        - {name: nvidia.com/mig-3g.71gb, replicas: 2}
        - {name: nvidia.com/mig-2g.35gb, replicas: 2}" >"$PARTITA_CONFIG_FILE"
# Left by an agent before.
mkdir -p "$root/MIG-00000000-0000-0000-0000-000000000000/pipe"
start_kubelet
start_agent it
await it READY=1
for resource in gpu.mps mig-3g.71gb mig-2g.35gb; do until_counted "nvidia.com/$resource" "2 of 2"; done
of() { ids "nvidia.com/$1" | sed -n '1s/::.*//p'; }
gpu=$(of gpu.mps) goes=$(of mig-3g.71gb) stays=$(of mig-2g.35gb)
listed() { [ "$(ls "$root")" = "$(printf '%s\n' "$@" | sort)" ]; }
until_true listed "$gpu" "$goes" "$stays"

run 0 on_node partita mig apply --gpu 1 --want 2g.35gb --yes
until_true listed "$gpu" "$stays"
logged it "MPS domain: its MIG device is gone, and so is its directory"
until_counted nvidia.com/mig-2g.35gb "2 of 2"
