#!/usr/bin/env bash
# The selection for the next boot is written before another change may begin: two changes at once must
# not leave one's layout and the other's selection. The drop-in is a pipe here: whoever reads it waits.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  ones: [{devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}]
YAML

up h200-vm
for first in "partita mig apply" "$work/nvidia-mig-parted apply"; do
  rm -f "$work/drop-in"
  mkfifo "$work/drop-in"
  # shellcheck disable=SC2086
  HOST_MIG_MANAGER_STATE_FILE=$work/drop-in on_node $first -f "$work/mig.yaml" -c ones >"$work/first" 2>&1 &
  exec {pipe}>"$work/drop-in" # goes on when it is read
  run 4 on_node partita mig apply --want off
  complains "is changing this node's GPUs"
  echo '[Service]' >&"$pipe"
  exec {pipe}>&-
  grep -q MIG_PARTED_SELECTED_CONFIG "$work/drop-in" || fail "no selection"
  wait $! || fail "the first failed: $(cat "$work/first")"
done
