#!/usr/bin/env bash
# An agent says to systemd when it is ready and answers its watchdog; it serves /healthz and /readyz, is
# open to root alone, ends on SIGTERM and leaves nothing behind but its lock's file.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

WATCHDOG_USEC=100000 start_agent it
await it READY=1
await it "STATUS=running*"
await it WATCHDOG=1
[ "$(stat -c %a "$work/run/agent.sock")" = 600 ] || fail "others can reach the agent"
page /healthz
shows 200 ok
page /readyz
shows 200 "[+] config" ready
page /nothing
shows 404

# Others get no answer, also where the file lets them in.
chmod 755 "$work"
chmod 666 "$work/run/agent.sock"
install -m 755 "$PARTITA_BIN/partita" "$work/partita"
run 1 setpriv --reuid 65534 --clear-groups "$work/partita" config reload
complains "only root may ask the agent"

kill "${agent[it]}"
await it STOPPING=1
ended it 0
logged it "agent stopping signal=SIGTERM" "agent stopped"
[ "$(ls "$work/run")" = agent.lock ] || fail "left behind: $(ls "$work/run")"
[ ! -e "$http" ] || fail "the socket of /readyz is still there"
run 1 partita config reload
complains "no agent answers at $work/run/agent.sock"
