#!/usr/bin/env bash
# No GPU is reset while this very process has GPU nodes open: it would fail, or take them from under us.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

# holding NODE COMMAND…: with a descriptor of the node that the command inherits, as from a careless
# parent.
cat >"$work/holding" <<'PY'
import os, sys
os.set_inheritable(os.open(sys.argv[1], os.O_PATH), True)
os.execvp(sys.argv[2], sys.argv[2:])
PY
up dgx-a100-40
run 5 on_node python3 "$work/holding" /dev/nvidia4 partita mig apply --gpu 4 --want 3g.20gb --yes
cat "$work/err" >>"$work/out"
shows "this process still has /dev/nvidia4 open"
run 0 on_node partita mig show --gpu 4
shows "MIG off, on after a GPU reset"
run 0 on_node partita mig apply --gpu 4 --want 3g.20gb --yes
shows "applied"
