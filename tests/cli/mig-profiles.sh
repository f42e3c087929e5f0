#!/usr/bin/env bash
# Profiles come from the driver of each GPU, and without a GPU from a known product: both alike.
source "$(dirname "$0")/common.sh"

run 0 partita mig profiles --model H200
shows "1g.18gb+me  20    1   16.00   16" "3g.71gb      9    2   69.75   60" "0,2,4,6"
sed 1d "$work/out" >"$work/table"
up h200-vm
run 0 on_node partita mig profiles
shows "GPU 0  NVIDIA H200"
sed 1d "$work/out" | cmp - "$work/table" || fail "the driver and the product table disagree"
run 0 on_node partita mig profiles -o json
shows '"kind": "MigProfiles"' '"id": 19'

run 2 partita mig profiles --model H2000
complains 'no product "H2000" is known' 'did you mean "H200"?'
run 2 on_node partita mig profiles --model H200 --gpu 0
complains "--gpu and --model exclude each other"
run 6 partita mig profiles
complains "--driver-root DIR"
