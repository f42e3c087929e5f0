#!/usr/bin/env bash
# What the partition editor leaves waiting for a reset or a reboot is finished by the boot after it, which
# brings the whole of what was asked for; what it was refused is not.
# With mounts of its own: the folder of the file is one that a boot sees, on every machine.
if [ -z "${own_mounts:-}" ]; then own_mounts=1 exec unshare --mount "$0"; fi
source "$(dirname "$0")/common.sh"
mount --bind "$work" /srv
export PARTITA_RUN_DIR=$work/run HOST_MIG_MANAGER_STATE_FILE=$work/override.conf
memory=$PARTITA_STATE_DIR/mig.json
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" --exit-codes=extended "$@"; }
select_old() { printf '[Service]\nEnvironment="MIG_PARTED_SELECTED_CONFIG=old"\n' >"$work/override.conf"; }

up dgx-a100-40
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  off: [{devices: [0, 1], mig-enabled: false}]
  slices: [{devices: [0, 1], mig-enabled: true, mig-devices: {3g.20gb: 1, 1g.5gb: 2}}]
YAML
cat >"$work/hooks.yaml" <<'YAML'
version: v1
hooks:
  pre-apply-config: [{command: /bin/false}]
YAML
slices=(-f /srv/mig.yaml -c slices)
# What an earlier apply left must not come back instead.
run 0 parted apply -f "$work/mig.yaml" -c off
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 0 --memory 1GiB -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r pid <"$work/started"
on_exit+=("kill $pid 2>/dev/null")

# Refused, or ended by a hook: it failed, and nothing of it is remembered.
select_old
cp "$memory" "$work/before"
run 4 parted apply "${slices[@]}"
run 1 parted apply "${slices[@]}" --skip-reset -k "$work/hooks.yaml"
cmp "$memory" "$work/before" || fail "a change that failed is remembered"
grep -q old "$work/override.conf" || fail "a change that failed is selected"

# The modes alone, then everything.
run 0 parted apply "${slices[@]}" --skip-reset --mode-only
[ "$(grep -c '"MigMode": 1' "$memory")" = 2 ] || fail "the modes that wait are not remembered"
grep -q old "$work/override.conf" || fail "modes alone are selected"
run 5 parted apply "${slices[@]}" --skip-reset
complains "A GPU reset or a reboot is required"
grep -q SELECTED_CONFIG=slices "$work/override.conf" || fail "the boot would select something else"
cp "$memory" "$work/wanted"
run 1 on_node "$work/nvidia-mig-parted" apply "${slices[@]}" --skip-reset
cmp "$memory" "$work/wanted" || fail "the same again is remembered otherwise"

echo >"$work/end"
wait
partita-sim reboot --node "$node" >/dev/null
run 0 on_node partita mig boot
run 0 parted assert "${slices[@]}"
run 0 on_node partita mig show --gpu 2 -o json
shows '"migEnabled": false'

# A reset that fails waits as well. It ends the change before its devices: they come for GPUs too whose
# mode was right already. What a checkpoint holds has no name to select.
run 0 parted checkpoint -f "$work/state.json"
smi=$PARTITA_SIM_DIR/$node/usr/bin/nvidia-smi
cp --remove-destination "$smi" "$work/smi"
for change in "$work/nvidia-mig-parted --exit-codes=extended restore" "partita mig restore"; do
  run 0 parted apply -f "$work/mig.yaml" -c off
  run 0 on_node partita mig apply --gpu 1 --want 7g.40gb
  select_old
  rm "$smi"
  printf '#!/bin/sh\necho "GPU reset is not supported here"\nexit 3\n' >"$smi"
  chmod +x "$smi"
  # shellcheck disable=SC2086
  run 5 on_node $change -f "$work/state.json"
  ! grep -q old "$work/override.conf" || fail "the boot would select something else"
  cp --remove-destination "$work/smi" "$smi"
  partita-sim reboot --node "$node" >/dev/null
  run 0 on_node partita mig boot
  run 0 parted assert "${slices[@]}"
done
