#!/usr/bin/env bash
# On a node with three products every one has labels of its own, and the reference's describe the same one each time.
source "$(dirname "$0")/common.sh"

up mixed
for _ in 1 2 3 4 5; do
  run 0 on_node partita labels show
  grep -qE '^nvidia.com/gpu.product +Tesla-T4$' "$work/out" || fail "another product"
  grep -qE '^nvidia.com/gpu.count +1$' "$work/out" || fail "another count"
done
shows "partita.dev/gpu.models" "partita.dev/gpu.0.product"
for line in 'gpu.models +3' 'gpu.0.product +Tesla-T4' 'gpu.1.product +Tesla-V100-SXM2-16GB' 'gpu.2.product +NVIDIA-A100-SXM4-40GB' 'gpu.2.count +1'; do
  grep -qE "^partita.dev/$line\$" "$work/out" || fail "no line $line"
done

# Once the driver is gone, what the bus tells is left.
run 0 partita-sim driver unload --node "$node"
run 6 on_node partita labels show
complains "Driver Not Loaded"
grep -qE '^nvidia.com/gpu.present +true$' "$work/out" || fail "gpu.present"
! grep -q gpu.product "$work/out" || fail "a product without a driver"
