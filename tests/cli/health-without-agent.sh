#!/usr/bin/env bash
# Without an agent `partita health` shows what one look finds; without a driver it says so.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
run 0 on_node partita health
silent err
[ "$(grep -c ' healthy' "$work/out")" -eq 8 ] || fail "not eight GPUs"
partita-sim fault reset-required --gpu 4 --node "$node"
run 3 on_node partita health
shows "ResetRequired" "unhealthy"
[ "$(grep -c ' healthy' "$work/out")" -eq 7 ] || fail "the others are not healthy"
run 3 on_node partita health -o json
by_schema health-v1 "$work/out"
run 1 on_node partita health clear 4
complains "no agent runs here"
run 2 on_node partita health clear
run 0 partita-sim driver unload --node "$node"
run 6 on_node partita health
