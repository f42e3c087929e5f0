#!/usr/bin/env bash
# A lost layout is brought back also where the driver takes its time to wake up at the start.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
cp -r "$PARTITA_STATE_DIR" "$work/kept"
run 0 on_node partita mig apply --want none
rm -rf "$PARTITA_STATE_DIR" && cp -r "$work/kept" "$PARTITA_STATE_DIR"
echo another-boot >"$PARTITA_STATE_DIR/mig-boot"
run 0 partita-sim fault call nvmlInit_v2 --node "$node" --slow 1000 --times 1
start_agent slow
await slow READY=1
logged slow "MIG was lost by a reboot and brought back"
run 0 on_node partita mig assert --want 3g.71gb,1g.18gb:2
kill "${agent[slow]}"
ended slow 0
