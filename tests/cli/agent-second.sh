#!/usr/bin/env bash
# One agent runs on a node. A second one waits, says for whom, can be stopped meanwhile, and takes the
# place of the first however that ended.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

start_agent first
await first READY=1
start_agent second
await second "STATUS=waiting for pid ${agent[first]} (partita agent), the agent that runs here"
start_agent third
await third "STATUS=waiting for pid ${agent[first]} (partita agent), the agent that runs here"
kill "${agent[third]}"
ended third 0
# A change is not kept from its work by an agent that runs: it has a lock of its own.
[ ! -e "$work/run/change.lock" ] || fail "an agent at rest locks changes"

kill -9 "${agent[first]}"
await second "STATUS=running*"
run 0 partita config reload
page /readyz
shows 200
kill "${agent[second]}"
ended second 0
