#!/usr/bin/env bash
# On a terminal --watch draws on the alternate screen; Ctrl-C ends it with status 0 and gives the
# terminal back: screen, cursor and line editing.
source "$(dirname "$0")/common.sh"

up h200-vm
coproc terminal {
  # The trap: Ctrl-C reaches this shell as well, and one without traps (dash) would die of it.
  script -qefc "trap : INT; stty rows 20 cols 100; stty -a >$work/before
    partita-sim run --node $node -- partita status --watch 0.1; echo status=\$?
    stty -a >$work/after" /dev/null 2>&1
}
# Bash takes the coprocess's own descriptors away when it ends.
exec {screen}<&"${terminal[0]}" {keys}>&"${terminal[1]}"
seen=
while [[ $seen != *"q quits"*"q quits"* ]] && IFS= read -r -d s part <&"$screen"; do seen+=${part}s; done
printf '\003' >&"$keys"
while IFS= read -r part <&"$screen" || [ -n "$part" ]; do seen+=$part; done 2>/dev/null
printf '%s' "$seen" >"$work/out"

shows $'\x1b[?1049h' $'\x1b[?25l' "NVIDIA H200" "every 0.1 s" $'\x1b[?25h\x1b[?1049l' "status=0"
cmp "$work/before" "$work/after" || fail "the terminal's settings were not given back"
