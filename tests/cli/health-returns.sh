#!/usr/bin/env bash
# A GPU that falls off the bus gets no work and is back by itself when it returns; so it is with one whose reset is
# required.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1

partita-sim fault lost --gpu 2 --node "$node"
until_health 3
shows "drain the node, then reboot it"
[ "$(grep -c " unhealthy " "$work/out")" -eq 1 ] || fail "not that GPU alone"
partita-sim fault clear --gpu 2 --node "$node"
until_health 0
logged it "healthy again"

partita-sim fault reset-required --gpu 4 --node "$node"
run 0 on_node partita status
until_health 3
shows "ResetRequired"
partita-sim fault clear --gpu 4 --node "$node"
# After a relapse of another GPU nobody waits longer.
until_health 0
