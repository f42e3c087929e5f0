#!/usr/bin/env bash
# What was applied is remembered, GPU by GPU, in a file that says when it is damaged; what was not
# applied is not.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
memory=$PARTITA_STATE_DIR/mig.json

up dgx-a100-40
run 0 on_node partita mig apply --gpu 1 --want 3g.20gb,1g.5gb:4
head -1 "$memory" | grep -qE '^partita-mig 1 sha256=[0-9a-f]{64} len=[0-9]+$' || fail "another header"
[ "$(tail -n +2 "$memory" | sha256sum | cut -d' ' -f1)" = "$(head -1 "$memory" | sed 's/.*sha256=\([^ ]*\).*/\1/')" ] ||
  fail "another checksum"
[ "$(grep -c '"UUID"' "$memory")" = 1 ] || fail "GPUs that nobody asked for are remembered"
run 0 on_node partita mig apply --gpu 2 --want 7g.40gb
[ "$(grep -c '"UUID"' "$memory")" = 2 ] || fail "the other GPU was forgotten"

# Refused, so not remembered.
cp "$memory" "$work/before"
run 2 on_node partita mig apply --gpu 1 --want 3g.20gb:3
cmp "$memory" "$work/before" || fail "something that was refused is remembered"

# Killed between its two steps, the partition editor leaves what was remembered: not a mode without
# the devices.
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  slices:
    - {devices: [1], mig-enabled: true, mig-devices: {1g.5gb: 7}}
YAML
cat >"$work/hooks.yaml" <<'YAML'
version: v1
hooks:
  pre-apply-config: [{command: /bin/sh, args: ["-c", "kill -9 $PPID"]}]
YAML
run 0 on_node partita mig apply --gpu 1 --want off
cp "$memory" "$work/before"
run 137 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices -k "$work/hooks.yaml"
run 3 on_node partita mig assert --gpu 1 --want off
cmp "$memory" "$work/before" || fail "half of a change is remembered"
# What is there already is remembered as well as what was made.
run 0 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices
cp "$memory" "$work/wanted"
cp "$work/before" "$memory"
run 0 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices
cmp "$memory" "$work/wanted" || fail "what was there already is not remembered"

# Nor does it matter what cannot be read of a GPU that nobody meant.
partita-sim fault call nvmlDeviceGetMigMode --fail UNKNOWN --gpu 5 --node "$node" >/dev/null
run 0 on_node partita mig apply --gpu 2 --want 3g.20gb,2g.10gb
if grep "will not come back" "$work/err"; then fail "a GPU that nobody meant is asked"; fi
! cmp -s "$memory" "$work/wanted" || fail "it is not remembered beside a GPU that cannot be read"
partita-sim fault clear --all --node "$node" >/dev/null

# Deleting it is how to forget: not even the one before comes back.
[ -e "$memory.bak" ] || fail "the one before is not kept"
rm "$memory"
run 0 on_node partita mig boot
complains "nothing was applied before"

# A directory that cannot be written: applied, and told.
export PARTITA_STATE_DIR=/proc/no-such-place
run 0 on_node partita mig apply --gpu 2 --want 3g.20gb:2
complains "this will not come back after a reboot" "/proc/no-such-place"
