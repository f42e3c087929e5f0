#!/usr/bin/env bash
# With a bad configuration and no good one known an agent runs, serves nothing and says why; it is ready
# when the file is right. What somebody types wrong is told at once.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

echo 'version: partita/v2' >"$PARTITA_CONFIG_FILE"
start_agent it --listen "unix:$http"
await it "STATUS=config: $PARTITA_CONFIG_FILE is bad and no good one is known"
logged it "nothing is served" 'unknown version \"partita/v2\"'
page /readyz
shows 503 "[-] config: $PARTITA_CONFIG_FILE is bad and no good one is known" "not ready"
page /healthz
shows 200
configure "$good_config"
run 0 partita config reload
await it "STATUS=running*"
page /readyz
shows 200

run 2 partita agent --listen nowhere
complains "--listen" "\"nowhere\" is no address to listen on"

# A step that fails ends the start, and what was begun before it.
kill "${agent[it]}"
ended it 0
echo >"$http"
start_agent failing
ended failing 1
logged failing "agent not started" "something else than a socket is there"
[ "$(ls "$work/run")" = agent.lock ] || fail "left behind: $(ls "$work/run")"
