#!/usr/bin/env bash
# A wait for the driver's events that never comes back does not keep the agent from ending.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
run 0 partita-sim fault call nvmlEventSetWait_v2 --node "$node" --hang
start_agent it
await it READY=1
waits() { grep -qx events "/proc/${agent[it]}/task/"*/comm; }
until_true waits
kill "${agent[it]}"
ended it 0
