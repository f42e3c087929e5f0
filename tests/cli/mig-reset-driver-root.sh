#!/usr/bin/env bash
# A driver root is a whole system with a libc of its own. A reset under it takes the driver's library from
# there and nothing else.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up dgx-a100-40
mkdir -p "$PARTITA_SIM_DIR/$node/usr/lib"
echo "a libc that is not for this system" >"$PARTITA_SIM_DIR/$node/usr/lib/libc.so.6"
run 0 on_node env -u LD_LIBRARY_PATH partita mig apply --driver-root /run/partita-sim --gpu 4 --want 3g.20gb --yes
shows "applied"
run 0 on_node env -u LD_LIBRARY_PATH partita mig assert --driver-root /run/partita-sim --gpu 4 --want 3g.20gb
