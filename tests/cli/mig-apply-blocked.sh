#!/usr/bin/env bash
# What is in use is not destroyed: status 4, the process named, nothing changed; around it works.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up h200-vm
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb
run 0 on_node partita mig show -o json
gi=$(grep -B1 '"profile": "1g.18gb"' "$work/out" | grep -o '[0-9]*' | head -1)
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 0 --mig "$gi" --memory 1GiB -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r pid <"$work/started"
run 0 on_node partita mig export
cp "$work/out" "$work/before"

run 4 on_node partita mig apply --want 7g.141gb
shows "● $pid sh"
run 4 on_node partita mig apply --want off -o json
complains "while pid $pid (sh"
run 0 on_node partita mig export
cmp "$work/before" "$work/out" || fail "a blocked apply changed something"
run 0 on_node partita mig apply --want 1g.18gb:4
run 0 on_node partita mig show
shows "● $pid sh" "GI $gi"
echo >"$work/end"
wait
run 0 on_node partita mig apply --want off
shows "applied"
