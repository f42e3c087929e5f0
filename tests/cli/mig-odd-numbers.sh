#!/usr/bin/env bash
# Numbers of a driver that mean nothing, such as an instance of no slices, are told and used for nothing:
# no command dies of them, and nothing is changed by them.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up dgx-a100-40
run 0 on_node partita mig apply --gpu 4 --want 3g.20gb,1c.3g.20gb:3 --yes
run 0 on_node partita mig export
cp "$work/out" "$work/before"
for odd in instance-size instance-start place-size place-end profile-slices profile-count compute-slices; do
  for command in status "mig show" "mig export" "mig profiles" "mig layouts" "mig plan --gpu 4 --want 7g.40gb" \
    "mig plan --gpu 4 --want none" "mig apply --gpu 4 --want 2g.10gb:3 --yes" "mig checkpoint -f $work/state.json"; do
    status=0
    # shellcheck disable=SC2086
    on_node env PARTITA_ODD=$odd partita $command --library "$PARTITA_ODD_DRIVER" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" -le 6 ] || fail "$odd: exit status $status: partita $command"
  done
  case $odd in
    profile-count) continue ;; # how many there may be is not wrong by itself
  esac
  run 0 on_node env PARTITA_ODD=$odd partita status --library "$PARTITA_ODD_DRIVER" --width 200
  shows "slices"
  run 0 on_node partita mig export
  cmp "$work/before" "$work/out" || fail "$odd: something was changed"
done
