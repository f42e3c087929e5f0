#!/usr/bin/env bash
# Where a mode needs a reset and somebody uses the GPU, nothing is touched; with --skip-reset the mode
# becomes pending, and the boot after it brings the whole of what was asked for.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
memory=$PARTITA_STATE_DIR/mig.json

up dgx-a100-40
# What an earlier apply left must not come back instead.
run 0 on_node partita mig apply --gpu 0 --gpu 1 --want off
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 0 --memory 1GiB -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r pid <"$work/started"
on_exit+=("kill $pid 2>/dev/null")

run 4 on_node partita mig apply --gpu 0 --gpu 1 --want 3g.20gb,1c.3g.20gb:2
shows "● $pid sh"
run 0 on_node partita mig show --gpu 0 --gpu 1 -o json
! grep -q '"migPending": true' "$work/out" || fail "a blocked apply left a mode pending"
! grep -q '"MigMode": 1' "$memory" || fail "a blocked apply is remembered"

export HOST_MIG_MANAGER_STATE_FILE=$work/override.conf
printf '[Service]\nEnvironment="MIG_PARTED_SELECTED_CONFIG=all-disabled"\n' >"$work/override.conf"
run 5 on_node partita mig apply --gpu 0 --gpu 1 --want 3g.20gb,1c.3g.20gb:2 --skip-reset
! grep -q all-disabled "$work/override.conf" || fail "the boot would select something else"
shows "GPU 0: its MIG mode is pending; a reset must wait for pid $pid (sh" "a GPU reset or a reboot is required"
! grep -qF "GPU 1: its MIG mode is pending;" "$work/out" || fail "nobody uses GPU 1"
run 0 on_node partita mig show --gpu 0 -o json
shows '"migEnabled": false' '"migPending": true' "\"pid\": $pid"
run 5 on_node partita mig apply --gpu 0 --gpu 1 --want 3g.20gb,1c.3g.20gb:2 --skip-reset -o json
shows '"resetRequired": true' "a reset must wait for pid $pid (sh"

echo >"$work/end"
wait
partita-sim reboot --node "$node" >/dev/null
run 0 on_node partita mig boot
run 0 on_node partita mig assert --gpu 0 --gpu 1 --want 3g.20gb,1c.3g.20gb:2
run 0 on_node partita mig show --gpu 2 -o json
shows '"migEnabled": false'
