#!/usr/bin/env bash
# A GPU whose call was given up does not keep another from being changed once that call is back.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
partita-sim fault call nvmlDeviceGetMemoryInfo_v2 --slow 3000 --times 1 --gpu 3 --node "$node" >/dev/null
run 0 on_node partita mig apply --gpu 0 --want 7g.40gb
run 0 on_node partita mig assert --gpu 0 --want 7g.40gb
