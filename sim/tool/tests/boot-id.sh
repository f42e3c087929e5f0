#!/usr/bin/env bash
# A node that is booted anew has another boot id, as whoever keeps what does not outlive a boot looks at it;
# the host keeps its own.
source "$(dirname "$0")/common.sh"

file=/proc/sys/kernel/random/boot_id
host=$(cat "$file")
run 0 partita-sim up dgx-a100-40
run 0 partita-sim run -- cat "$file"
first=$(cat "$work/out")
[ "$first" != "$host" ] || fail "the node shows the host's boot"
run 0 partita-sim run -- cat "$file"
shows "$first"
run 0 partita-sim reboot
shows "boot 2, id "
told=$(sed 's/.* id //' "$work/out")
run 0 partita-sim run -- cat "$file"
[ "$(cat "$work/out")" = "$told" ] || fail "not the boot that was told: $told"
[ "$told" != "$first" ] || fail "two boots with one id"
[ "$(cat "$file")" = "$host" ] || fail "the host's boot is another"
run 0 partita-sim down
