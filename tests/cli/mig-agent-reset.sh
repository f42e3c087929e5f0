#!/usr/bin/env bash
# A mode that needs a reset is changed while the agent runs: it lets its session go for it, and comes back.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
# Others of its descriptors may be closed meanwhile, of which find complains.
opened() { (find "/proc/${agent[it]}/fd" -lname '/dev/nvidia*' 2>/dev/null || true) | wc -l; }
before=$(opened)
[ "$before" -gt 0 ] || fail "the agent has no session"
run 0 on_node partita mig apply --gpu 3 --want 1g.5gb:7 --yes
shows "applied"
complains "GPU 3: reset"
run 0 on_node partita status --gpu 3
shows "1g.5gb"
[ "$(opened)" -gt 0 ] || fail "the agent did not come back"
run 0 on_node partita mig apply --gpu 3 --want off --yes
shows "applied"
logged it "a change of MIG ended"
