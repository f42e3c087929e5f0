#!/usr/bin/env bash
# A machine that was really booted anew: its layout is gone and comes back, and the slice that a pod was given is
# still that pod's, which kubelet starts again.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
start_agent before
await before READY=1
run 0 on_node partita mig apply --gpu 0 --want 1g.5gb:2 --yes
run 0 on_node partita mig export
cp "$work/out" "$work/layout"
kill "${agent[before]}"
ended before 0
run 0 on_node "$PARTITA_BIN/partita_ledger_hold" "$PARTITA_STATE_DIR" default train

run 0 partita-sim reboot --node "$node"
start_agent after
await after READY=1
logged after "MIG was lost by a reboot and brought back"
run 0 on_node partita mig export
cmp "$work/layout" "$work/out" || fail "another layout came back"
run 4 on_node partita mig plan --gpu 0 --want 7g.40gb
shows "default/train"
