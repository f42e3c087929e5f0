#!/usr/bin/env bash
# Colour, width and character set follow options and environment; a pipe gets neither colour nor more
# than 80 columns.
source "$(dirname "$0")/common.sh"

up h200-vm
run 0 on_node partita status
! grep -q $'\x1b' "$work/out" || fail "escape sequences in a pipe"
run 0 on_node partita status --color always
grep -q $'\x1b\[38;5;' "$work/out" || fail "no colour with --color always"
run 0 env LC_ALL=C partita-sim run --node "$node" -- partita status
! grep -qP '[^\x00-\x7F]' "$work/out" || fail "other characters than ASCII in the C locale"
run 0 on_node partita status --ascii
! grep -qP '[^\x00-\x7F]' "$work/out" || fail "other characters than ASCII with --ascii"
run 0 on_node partita status --width 132
[ "$(wc -L <"$work/out")" -eq 132 ] || fail "not 132 columns wide: $(wc -L <"$work/out")"
