#!/usr/bin/env bash
# A GPU that fell off the bus is named by the boot, and its status is 1, also where the configuration says
# "all" or the layout is remembered. A configuration that does not mean it is none of its business.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
mkdir "$work/etc"
cat >"$work/etc/config.yaml" <<'YAML'
version: v1
mig-configs:
  all: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]
  off: [{devices: all, mig-enabled: false}]
  five: [{devices: [5], mig-enabled: true, mig-devices: {1g.5gb: 7}}]
YAML
boot() { on_node partita mig boot --config-dir "$work/etc" "$@"; }

up dgx-a100-40
run 0 boot --selected-config all
partita-sim fault lost --node "$node" --gpu 4 >/dev/null
run 1 boot --selected-config all
complains '"all" is in force, except: ' "GPU 4 cannot be configured (fell off the bus"
run 0 on_node partita mig assert --gpu 5 --want 1g.5gb:7
run 1 boot
complains "what was applied last is in force, except: GPU 4 cannot be configured (fell off the bus"
run 1 boot --selected-config off
complains '"off" is in force, except: GPU 4 cannot be configured'
run 0 boot --selected-config five
