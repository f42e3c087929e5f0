#!/usr/bin/env bash
# What partita keeps in /run/partita and /var/lib/partita is the node's own: one node's lock is not
# another's, and what a node remembers goes with it. A reboot empties the first and keeps the second.
source "$(dirname "$0")/common.sh"
unset PARTITA_STATE_DIR PARTITA_RUN_DIR

host_is_clean() {
  for file in /run/partita/mark /var/lib/partita/mark; do [ ! -e $file ] || fail "the host has $file"; done
}
host_is_clean
for node in one two; do
  run 0 partita-sim up h200-vm --node $node
  run 0 partita-sim run --node $node -- sh -c "echo $node >/run/partita/mark; echo $node >/var/lib/partita/mark"
done
host_is_clean
for node in one two; do
  run 0 partita-sim run --node $node -- cat /run/partita/mark /var/lib/partita/mark
  [ "$(tr '\n' ' ' <"$work/out")" = "$node $node " ] || fail "node $node has what another wrote"
done
run 0 partita-sim run --node one -- stat -c '%a %U' /run/partita /var/lib/partita
[ "$(tr '\n' ' ' <"$work/out")" = "755 root 700 root " ] || fail "other modes than on a real machine"

# One node's change is no reason for another to wait.
mkfifo "$work/locked" "$work/go"
partita-sim run --node one -- flock /run/partita/change.lock sh -c 'echo >"$0"; read -r _ <"$1"' "$work/locked" "$work/go" &
read -r _ <"$work/locked"
run 0 partita-sim run --node two -- partita mig apply --yes --want 1g.18gb:7
run 0 partita-sim run --node two -- test -s /var/lib/partita/mig.json
run 1 partita-sim run --node one -- test -e /var/lib/partita/mig.json
echo >"$work/go"
wait

run 0 partita-sim reboot --node two
run 1 partita-sim run --node two -- cat /run/partita/mark
run 0 partita-sim run --node two -- cat /var/lib/partita/mark /var/lib/partita/mig.json
run 0 partita-sim run --node one -- cat /run/partita/mark

run 0 partita-sim down --node two
run 0 partita-sim up h200-vm --node two
run 1 partita-sim run --node two -- cat /var/lib/partita/mark
host_is_clean
