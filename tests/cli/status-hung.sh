#!/usr/bin/env bash
# A GPU whose driver never answers is given up after its deadline; the others are read all the same.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
partita-sim fault call '*' --hang --gpu 2 --node "$node" >/dev/null
run 0 on_node partita status
shows "8 GPUs" "✗ hung: nvml" "did not come back within 2 s"
[ "$(grep -c '^   memory ' "$work/out")" -eq 7 ] || fail "the seven others are not all read"
