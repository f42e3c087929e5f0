#!/usr/bin/env bash
# An agent whose session with the driver must close, while a call in it never comes back, says so and
# replaces itself: the same process, started anew, with its ledger and without a descriptor of its old life.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
pid=$(grep -o 'pid=[0-9]*' "$work/it.log" | head -1)
pid=${pid#pid=}
[ "$(readlink -f "/proc/$pid/exe")" = "$(readlink -f "$PARTITA_BIN/partita")" ] || fail "$pid is no agent"
started=$(cut -d' ' -f22 "/proc/$pid/stat")
# Every descriptor that it opened is closed by an exec (O_CLOEXEC), the driver's too.
inherited=$(readlink /proc/$$/fd/* || true)
for about in "/proc/$pid/fdinfo"/*; do
  [ "$(basename "$about")" -gt 2 ] || continue
  flags=$(sed -n 's/^flags:[[:space:]]*//p' "$about" 2>/dev/null) || continue
  target=$(readlink "/proc/$pid/fd/$(basename "$about")") || continue
  [ $((flags & 02000000)) -ne 0 ] || grep -qxF -- "$target" <<<"$inherited" || fail "open over an exec: $target"
done
records=$(wc -l <"$work/state/ledger.journal")
[ "$records" -gt 0 ] || fail "no ledger"

# One GPU's calls hang for ever; then another leaves the driver, so that the session must be another.
partita-sim fault call '*' --hang --gpu 2 --node "$node" >/dev/null
run 0 on_node partita status
partita-sim set --gpu 7 pci-driver=unbound --node "$node" >/dev/null
run 0 on_node partita status
# Time in which the agent runs: a minute, and what led to it.
while IFS= read -r -t 120 line <&"${notes[it]}"; do
  if [[ $line == STATUS=inventory:* ]]; then problem=$line; fi
  if [[ $line == READY=1 && -n ${problem:-} ]]; then break; fi
done
[[ ${problem:-} == *"must close, and nvml"*" on GPU "*" never comes back" ]] || {
  cat "$work/it.log" >&2
  fail "it has not said what is stuck: ${problem:-nothing}"
}
await it "STATUS=running*"
logged it "replacing this process" "never comes back"
[ "$(grep -c 'agent starting' "$work/it.log")" -eq 2 ] || fail "it has not started anew"
[ "$(grep -c "agent starting.*pid=$pid\$" "$work/it.log")" -eq 2 ] || fail "it is another process"
[ "$(cut -d' ' -f22 "/proc/$pid/stat")" = "$started" ] || fail "it is another process of the same number"
page /readyz
shows 200 "[+] ledger"
# What it wrote is there, and nothing of it was made anew.
[ "$(wc -l <"$work/state/ledger.journal")" -ge "$records" ] || fail "the ledger was lost"
run 0 on_node partita status
silent err
shows "its driver was unbound"
kill "$pid"
