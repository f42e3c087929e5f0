#!/usr/bin/env bash
# --gpu takes an index, an address or the start of a UUID, and says what there is when none fits.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
run 0 on_node partita status --gpu 7
uuid=$(grep -o 'GPU-[0-9a-f]*' "$work/out")
address=$(grep -o '0000:[0-9a-f:.]*' "$work/out")
shows "1 of 8 GPUs" "── GPU 7 "
for id in "$uuid" "$address" "0000${address^^}"; do
  run 0 on_node partita status --gpu "$id"
  shows "1 of 8 GPUs" "── GPU 7 "
done
# Several, in one word too.
run 0 on_node partita status --gpu "7,0"
shows "2 of 8 GPUs" "── GPU 0 " "── GPU 7 "
run 0 on_node partita mig plan --gpu "0,1" --want 7g.40gb
shows "GPUs 0,1"
run 2 on_node partita status --gpu 8
silent out
complains '--gpu "8": no such GPU' "this machine has 0 at 0000:"
