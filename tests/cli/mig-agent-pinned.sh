#!/usr/bin/env bash
# A slice or GPU that a pod was given stays, though nothing runs in it yet: plan and apply name the pod, with the agent and
# without.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
run 0 on_node partita mig apply --gpu 0 --want 1g.5gb:2 --yes
run 0 on_node "$PARTITA_BIN/partita_ledger_hold" "$PARTITA_STATE_DIR" default train
uuid=$(cat "$work/out")
run 0 on_node "$PARTITA_BIN/partita_ledger_hold" "$PARTITA_STATE_DIR" default whole 1

# GPU 1 is idle, whole and given to a pod.
whole_is_named() {
  run 4 on_node partita mig plan --gpu 1 --want 7g.40gb
  shows "the GPU was given to pod default/whole (main)" "blocked by what is in use"
  run 4 on_node partita mig plan --gpu 1 --want 7g.40gb -o json
  shows '"givenWhole"' "pod default/whole (main)"
  complains "GPU 1 is held by pod default/whole (main), though nothing runs on it"
  run 4 on_node partita mig apply --gpu 1 --want 7g.40gb --yes
  shows "the GPU was given to pod default/whole (main)"
  run 4 on_node partita mig apply --gpu 1 --want 7g.40gb --yes -o json
  complains "GPU 1 is held by pod default/whole (main), though nothing runs on it"
  run 4 on_node partita mig apply --gpu 1 --want 7g.40gb --skip-reset --yes -o json
  complains "GPU 1 is held by pod default/whole (main)"
  run 0 on_node partita mig plan --gpu 1 --want off
  shows "nothing to do"
  run 0 on_node partita mig plan --gpu 2 --want 7g.40gb
}
whole_is_named

start_agent it
await it READY=1
whole_is_named
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
