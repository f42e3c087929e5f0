#!/usr/bin/env bash
# Different products side by side: each with its own memory, MIG only where the product can.
source "$(dirname "$0")/common.sh"

up mixed
run 0 on_node partita status
silent err
shows "T4" "V100" "A100"
[ "$(grep -c 'MIG off' "$work/out")" -eq "$(grep -c '^── GPU .*A100' "$work/out")" ] ||
  fail "MIG is shown for products without it, or not for those with it"
