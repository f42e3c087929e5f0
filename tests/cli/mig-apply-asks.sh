#!/usr/bin/env bash
# On a terminal apply asks before instances go; without one, or with --yes, it does not.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up h200-vm
run 0 on_node partita mig apply --want 1g.18gb:7
# answer WORD: apply on a terminal, with this typed once it asks.
answer() {
  coproc terminal {
    script -qefc "partita-sim run --node $node -- partita mig apply --want 3g.71gb:2; echo status=\$?" /dev/null 2>&1
  }
  exec {screen}<&"${terminal[0]}" {keys}>&"${terminal[1]}"
  local seen=
  while [[ $seen != *"[y/N]"* ]] && IFS= read -r -d ']' part <&"$screen"; do seen+=${part}]; done
  printf '%s\r' "$1" >&"$keys"
  while IFS= read -r part <&"$screen" || [ -n "$part" ]; do seen+=$part; done 2>/dev/null
  printf '%s' "$seen" >"$work/out"
  exec {screen}<&- {keys}>&-
}
answer n
shows "Carry it out? [y/N]" "nothing was changed" "status=3"
run 0 on_node partita mig assert --want 1g.18gb:7
answer y
shows "applied" "status=0"
run 0 on_node partita mig assert --want 3g.71gb:2
