#!/usr/bin/env bash
# A lost layout is brought back also where the driver takes its time to wake up at the start.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
lose_layout 3g.71gb,1g.18gb:2
run 0 partita-sim fault call nvmlInit_v2 --node "$node" --slow 1000 --times 1
start_agent slow
await slow READY=1
logged slow "MIG was lost by a reboot and brought back"
run 0 on_node partita mig assert --want 3g.71gb,1g.18gb:2
kill "${agent[slow]}"
ended slow 0
