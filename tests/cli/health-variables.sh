#!/usr/bin/env bash
# The two variables of NVIDIA's plugin say under our own name too which XIDs count; the configuration's word on one wins.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
echo "health: {xids: {92: ignore}}" >>"$PARTITA_CONFIG_FILE"
export DP_ENABLE_HEALTHCHECKS="44, 92" DP_DISABLE_HEALTHCHECKS="79,44,none"
start_agent it
await it READY=1
logged it 'warning: DP_DISABLE_HEALTHCHECKS: "none" is no XID'

# Until events are waited for, nobody hears them. What counts comes last.
hears() {
  for fault in "79 4" "92 3" "44 2"; do
    partita-sim fault xid "${fault% *}" --gpu "${fault#* }" --node "$node"
  done
  ! on_node partita health >"$work/seen"
}
until_true hears
run 3 on_node partita health --width 400
shows "XID 44"
[ "$(awk '$2 == "unhealthy" { print $1 }' "$work/out")" = 2 ] || fail "not that GPU alone"
