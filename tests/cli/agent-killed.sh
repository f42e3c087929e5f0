#!/usr/bin/env bash
# Killed at once, an agent leaves its socket: commands see that nobody answers, and the next agent takes
# its place.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

start_agent it
await it READY=1
kill -9 "${agent[it]}"
ended it 137
[ -S "$work/run/agent.sock" ] || fail "the test has nothing to test"
run 1 partita config reload
complains "no agent answers at $work/run/agent.sock" "start it: systemctl start partita-agent, or partita agent in another terminal"
start_agent again
await again "STATUS=running*"
run 0 partita config reload
page /readyz
shows 200
