#!/usr/bin/env bash
# A simulated DGX A100: driver, eight GPUs in order, their links, nothing that could not be read.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
run 0 on_node partita status
silent err
shows "driver 580." "CUDA 13." "8 GPUs   0 processes" "NVIDIA A100-SXM4-40GB" "/40.0 GiB" "MIG off" \
  "every GPU reaches every other over 12 links, through switches"
[ "$(sed -n 's/^── GPU \([0-9]*\) .*/\1/p' "$work/out" | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 " ] ||
  fail "GPUs are missing or out of order"
! grep -q "could not be read" "$work/out" || fail "something could not be read"
