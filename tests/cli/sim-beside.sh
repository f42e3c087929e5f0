#!/usr/bin/env bash
# `partita sim` runs the partita-sim beside it with the same words and passes its status on.
source "$(dirname "$0")/common.sh"

cp "$PARTITA_BIN/partita" "$work/partita"
run 1 "$work/partita" sim list
complains "$work/partita-sim" "not installed"

cat >"$work/partita-sim" <<'SIM'
#!/bin/sh
printf '%s\n' "$@"
exit 42
SIM
chmod +x "$work/partita-sim"
run 42 "$work/partita" sim run --node "a b" -- ls --output x
printf '%s\n' run --node "a b" -- ls --output x | cmp - "$work/out" || fail "the words changed"
