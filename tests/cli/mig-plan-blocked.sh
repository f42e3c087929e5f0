#!/usr/bin/env bash
# What is in use is never planned away: the plan goes around it, or names the process in the way.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
on_node nvidia-smi -i 7 -mig 1 >/dev/null
on_node nvidia-smi -r -i 7 >/dev/null
on_node nvidia-smi mig -i 7 -cgi 9,19 -C >/dev/null
run 0 on_node partita mig show --gpu 7 -o json
gi=$(grep -B1 '"profile": "1g.5gb"' "$work/out" | grep -o '[0-9]*' | head -1)
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 7 --mig "$gi" --memory 1GiB -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r pid <"$work/started"

run 0 on_node partita mig plan --gpu 7 --want 1g.5gb:4 --width 120
shows "GI $gi stays" "plan:"
run 4 on_node partita mig plan --gpu 7 --want 4g.20gb,3g.20gb
shows "blocked until these end:" "● $pid sh" "plan: blocked by what is in use"
run 4 on_node partita mig plan --gpu 7 --want off -o json
shows '"blocked": true' "\"pid\": $pid"
complains "GPU 7: its MIG mode cannot change while pid $pid (sh"
echo >"$work/end"
wait
run 0 on_node partita mig plan --gpu 7 --want 4g.20gb,3g.20gb
