#!/usr/bin/env bash
# Names and paths stand in the boot unit's drop-in and in logs: control characters in them are refused,
# with the place, before anything is changed.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run HOST_MIG_MANAGER_STATE_FILE=$work/override.conf
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
printf '[Service]\nEnvironment="MIG_PARTED_SELECTED_CONFIG="\n' >"$work/override.conf"
cp "$work/override.conf" "$work/before"
unchanged() {
  cmp "$work/before" "$work/override.conf" || fail "the drop-in was changed: $(cat "$work/override.conf")"
  run 0 on_node partita mig assert --want off
}

up h200-vm
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  fine: [{devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}]
  "ones\"\nExecStartPre=/bin/sh -c id": [{devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}]
YAML
name='ones"
ExecStartPre=/bin/sh -c id'
for selected in "$name" fine; do
  run 2 on_node partita mig apply -f "$work/mig.yaml" -c "$selected"
  complains "mig.yaml:4:3:" 'holds a control character' "letters, digits"
  run 1 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c "$selected"
  complains "mig.yaml:4:3:" 'holds a control character'
  unchanged
done

# In a path.
path=$work/$'mig\n[Service].yaml'
sed 4d "$work/mig.yaml" >"$path"
run 2 on_node partita mig apply -f "$path" -c fine
complains 'the path "' 'mig\n[Service].yaml" holds a control character' "name the file otherwise"
run 1 on_node "$work/nvidia-mig-parted" apply -f "$path" -c fine
complains "holds a control character"
printf 'version: v1\n' >"$work/"$'hooks\r.yaml'
sed -i 4d "$work/mig.yaml"
run 1 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c fine -k "$work/"$'hooks\r.yaml'
complains "Error parsing hooks file: the path" 'hooks\\x0d.yaml' "holds a control character"
unchanged
