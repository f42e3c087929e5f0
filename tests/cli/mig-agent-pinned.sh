#!/usr/bin/env bash
# A slice that a pod was given stays, though nothing runs in it yet: plan and apply through the agent name it.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
run 0 on_node partita mig apply --gpu 0 --want 1g.5gb:2 --yes
run 0 on_node "$PARTITA_BIN/partita_ledger_hold" "$PARTITA_STATE_DIR" default train
uuid=$(cat "$work/out")
start_agent it
await it READY=1
run 4 on_node partita mig plan --gpu 0 --want 7g.40gb
shows "default/train"
run 4 on_node partita mig apply --gpu 0 --want 7g.40gb --yes
run 4 on_node partita mig apply --gpu 0 --want off --yes
run 0 on_node partita status --gpu 0
shows "1g.5gb"
# What leaves it alone is done.
run 0 on_node partita mig apply --gpu 0 --want 1g.5gb:1,3g.20gb:1 --yes
shows "applied"
run 0 on_node nvidia-smi -L
shows "$uuid"
