#!/usr/bin/env bash
# What was applied is what the next boot selects: the reference's drop-in, where there is one, follows a
# success, and only that; its other lines stay.
# With mounts of its own: the folder of the files is one that a boot sees, on every machine.
if [ -z "${own_mounts:-}" ]; then own_mounts=1 exec unshare --mount "$0"; fi
source "$(dirname "$0")/common.sh"
mount --bind "$work" /srv
export PARTITA_RUN_DIR=$work/run HOST_MIG_MANAGER_STATE_FILE=$work/override.conf
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }
# selects LINE…: the drop-in is these lines.
selects() {
  printf '%s\n' "$@" | cmp -s - "$work/override.conf" || {
    cp "$work/override.conf" "$work/out"
    fail "another drop-in"
  }
}

up h200-vm
cat >/srv/mig.yaml <<'YAML'
version: v1
mig-configs:
  ones: [{devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}]
  never: [{devices: all, mig-enabled: true, mig-devices: {3g.71gb: 3}}]
YAML
printf 'version: v1\n' >/srv/hooks.yaml

# None is made.
run 0 on_node partita mig apply -f /srv/mig.yaml -c ones
[ ! -e "$work/override.conf" ] || fail "a drop-in where there was none"

cat >"$work/override.conf" <<'UNIT'
[Service]
Environment="MIG_PARTED_SELECTED_CONFIG=all-disabled"
TimeoutStartSec=60
UNIT
cp "$work/override.conf" "$work/before"
run 2 on_node partita mig apply -f /srv/mig.yaml -c never
run 0 on_node partita mig apply -f /srv/mig.yaml -c ones --mode-only
run 1 parted apply -f /srv/mig.yaml -c never
cmp "$work/before" "$work/override.conf" || fail "changed without a success"

cd /srv
run 0 on_node partita mig apply -f mig.yaml -c ones
file="Environment=\"MIG_PARTED_CONFIG_FILE=/srv/mig.yaml\""
ones='Environment="MIG_PARTED_SELECTED_CONFIG=ones"'
selects '[Service]' TimeoutStartSec=60 "$file" "$ones"
run 0 parted apply -f /srv/mig.yaml -c ones -k /srv/hooks.yaml
selects '[Service]' TimeoutStartSec=60 "$file" "Environment=\"MIG_PARTED_HOOKS_FILE=/srv/hooks.yaml\"" "$ones"

# Words, some GPUs or a checkpoint have no name: nothing is selected, and what was applied last counts.
run 0 parted checkpoint -f "$work/state.json"
for change in "partita mig apply --want 3g.71gb:2" "partita mig apply -f mig.yaml -c ones --gpu 0" \
  "partita mig restore -f state.json" "$work/nvidia-mig-parted restore -f state.json"; do
  cp "$work/before" "$work/override.conf"
  # shellcheck disable=SC2086
  run 0 on_node $change
  selects '[Service]' TimeoutStartSec=60 'Environment="MIG_PARTED_SELECTED_CONFIG="'
done

# Nor can a boot read again what came through a pipe.
cp "$work/before" "$work/override.conf"
run 0 on_node sh -c 'partita mig apply -f - -c ones <"$1"' - "$work/mig.yaml"
selects '[Service]' TimeoutStartSec=60 'Environment="MIG_PARTED_SELECTED_CONFIG="'

# It cannot be written: told, and the layout is in force all the same.
mkdir "$work/locked"
export HOST_MIG_MANAGER_STATE_FILE=$work/locked
run 0 on_node partita mig apply -f mig.yaml -c ones
complains "the next boot may select something else"
