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

# Deleting it is how to forget: not even the one before comes back.
[ -e "$memory.bak" ] || fail "the one before is not kept"
rm "$memory"
run 0 on_node partita mig boot
complains "nothing was applied before"

# A directory that cannot be written: applied, and told.
export PARTITA_STATE_DIR=/proc/no-such-place
run 0 on_node partita mig apply --gpu 2 --want 3g.20gb:2
complains "this will not come back after a reboot" "/proc/no-such-place"
