#!/usr/bin/env bash
# What a command writes to a path that the user names: a regular file is replaced, a link stays and its
# target is replaced, and everything else is written into as it is.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }

up h200-vm
run 0 parted generate-config
cp "$work/out" "$work/wanted"
run 0 parted checkpoint -f "$work/state.json"

# Copies of /dev/null: the machine's own is not for tests.
mknod "$work/null" c 1 3
for command in "generate-config -f" "checkpoint -f"; do
  # shellcheck disable=SC2086
  run 0 parted $command "$work/null"
  [ -c "$work/null" ] || fail "$command: the device is gone"
done
run 0 on_node partita mig checkpoint -f "$work/null"
[ -c "$work/null" ] || fail "mig checkpoint: the device is gone"

mkfifo "$work/pipe"
cat "$work/pipe" >"$work/read" &
run 0 parted generate-config -f "$work/pipe"
wait $!
cmp "$work/wanted" "$work/read" || fail "the pipe brought something else"
[ -p "$work/pipe" ] || fail "the pipe is gone"

echo old >"$work/target"
ln -s target "$work/link"
run 0 parted generate-config -f "$work/link"
[ "$(readlink "$work/link")" = target ] || fail "the link is gone"
cmp "$work/wanted" "$work/target" || fail "the target is something else"

# /dev/stdout is where the output goes, from where it stands.
{
  echo before
  parted generate-config -f /dev/stdout
  echo after
} >"$work/stdout" || fail "it cannot write to /dev/stdout"
{
  echo before
  cat "$work/wanted"
  echo after
} | cmp - "$work/stdout" || fail "something else on standard output"
run 0 parted checkpoint -f /dev/fd/9 9> >(cat >"$work/piped")
wait $!
cmp "$work/state.json" "$work/piped" || fail "something else on a descriptor"

# A drop-in that is a link, as configuration tools make them.
printf '[Service]\nEnvironment="MIG_PARTED_SELECTED_CONFIG=all-disabled"\n' >"$work/drop-in"
ln -s drop-in "$work/override.conf"
run 0 on_node env HOST_MIG_MANAGER_STATE_FILE="$work/override.conf" partita mig apply --want 1g.18gb:7
[ "$(readlink "$work/override.conf")" = drop-in ] || fail "the drop-in's link is gone"
grep -qF 'MIG_PARTED_SELECTED_CONFIG="' "$work/drop-in" || fail "the drop-in selects as before"
