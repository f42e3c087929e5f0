#!/usr/bin/env bash
# Closing the driver's library may take as long as opening it: a reset waits for it.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
partita-sim fault call nvmlShutdown --slow 2500 --times 1 --node "$node" >/dev/null
run 0 on_node partita mig apply --gpu 0 --want 7g.40gb
run 0 on_node partita mig assert --gpu 0 --want 7g.40gb
