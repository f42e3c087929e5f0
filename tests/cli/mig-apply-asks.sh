#!/usr/bin/env bash
# On a terminal apply asks before anything goes, whatever it prints, and holds nothing while it waits
# for the answer; without a terminal, or with --yes, it does not ask.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up h200-vm
# ask ARGUMENT…: apply on a terminal, up to its question.
ask() {
  coproc terminal {
    script -qefc "partita-sim run --node $node -- partita mig apply $*; echo status=\$?" /dev/null 2>&1
  }
  exec {screen}<&"${terminal[0]}" {keys}>&"${terminal[1]}"
  seen=
  question
}
# question: what is on the screen up to the next one, or to the end.
question() {
  local part=
  while IFS= read -r -d ']' part <&"$screen"; do
    seen+=${part}]
    [[ $part != *"[y/N" ]] || return 0
  done
  seen+=$part
}
# answer WORD: typed; returns when apply has ended.
answer() {
  local part=
  [[ $seen == *"[y/N]"* ]] || fail "it did not ask: $seen"
  printf '%s\r' "$1" >&"$keys"
  while IFS= read -r part <&"$screen" || [ -n "$part" ]; do seen+=$part; done 2>/dev/null
  printf '%s' "$seen" >"$work/out"
  exec {screen}<&- {keys}>&-
}

run 0 on_node partita mig apply --want 1g.18gb:7
ask --want 3g.71gb:2
answer n
shows "Carry it out? [y/N]" "nothing was changed" "status=3"
run 0 on_node partita mig assert --want 1g.18gb:7
ask --want 3g.71gb:2
answer y
shows "applied" "status=0"
run 0 on_node partita mig assert --want 3g.71gb:2

# The GPU instance stays, and its compute instance goes; a program that reads the output is no reason
# not to ask.
ask --want 3g.71gb,1c.3g.71gb:3 -o json
answer n
shows "Carry it out? [y/N]" "destroy compute instance" "nothing was changed" "status=3"
run 0 on_node partita mig assert --want 3g.71gb:2

# While the question is open, others may change the node; what was agreed to is then another plan.
ask --want 7g.141gb
run 0 on_node partita mig apply --want 1g.18gb:7
printf 'y\r' >&"$keys"
question
answer y
[ "$(grep -o 'Carry it out' "$work/out" | wc -l)" = 2 ] || fail "it did not ask again"
shows "the GPUs are no longer as they were: this is the plan now" "destroy GPU instance 1g.18gb" "status=0"
run 0 on_node partita mig assert --want 7g.141gb

# Who begins to use what stays changes nothing of what was agreed to.
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb
run 0 on_node partita mig show -o json
gi=$(grep -B1 '"profile": "3g.71gb"' "$work/out" | grep -o '[0-9]*' | head -1)
ask --want 3g.71gb
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 0 --mig "$gi" --memory 1GiB -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r _ <"$work/started"
printf 'y\r' >&"$keys"
question
printf '%s' "$seen" >"$work/out"
exec {screen}<&- {keys}>&-
[ "$(grep -o 'Carry it out' "$work/out" | wc -l)" = 1 ] || fail "it asked again"
shows "applied" "status=0"
echo >"$work/end"
