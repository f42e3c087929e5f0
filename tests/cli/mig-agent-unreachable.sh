#!/usr/bin/env bash
# Nothing is changed beside an agent that runs and cannot be asked: its socket is gone, or it is stopped.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
kill -STOP "${agent[it]}"
run 1 on_node partita mig apply --gpu 1 --want none --yes
complains "the agent does not answer"
# It makes its socket again when it looks: not while it is stopped.
rm "$PARTITA_RUN_DIR/agent.sock"
run 4 on_node partita mig apply --gpu 1 --want none --yes
complains "an agent runs here, pid ${agent[it]} (partita agent), and cannot be asked" "restart it"
kill -CONT "${agent[it]}"
kill "${agent[it]}"
ended it 0
run 0 on_node partita mig show --gpu 1
shows "MIG off"
run 0 on_node partita mig apply --gpu 1 --want none --yes
shows "applied"
