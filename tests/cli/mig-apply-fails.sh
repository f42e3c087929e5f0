#!/usr/bin/env bash
# A GPU that errors midway is put back as it was, and what is there is told; the next apply works.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up h200-vm
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
run 0 on_node partita mig export
cp "$work/out" "$work/before"
# Seven need every place, so there is no way around the one that fails.
partita-sim fault call nvmlDeviceCreateGpuInstanceWithPlacement --node "$node" --fail UNKNOWN --times 1 >/dev/null
run 3 on_node partita mig apply --want 1g.18gb:7
shows "not applied" "put back as it was"
run 0 on_node partita mig export
cmp "$work/before" "$work/out" || fail "it was not put back"
run 0 on_node partita mig apply --want 1g.18gb:7
run 0 on_node partita mig assert --want 1g.18gb:7
