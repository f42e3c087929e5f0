#!/usr/bin/env bash
# Slices are drawn where they are: names, ids and compute instances in order of their place, free
# slices as free, the last one beside seven as unusable, holders in theirs.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
on_node nvidia-smi -i 6,7 -mig 1 >/dev/null
on_node nvidia-smi -r -i 6,7 >/dev/null
on_node nvidia-smi mig -i 6 -cgi 19,19,19,19,19,19,19 -C >/dev/null
on_node nvidia-smi mig -i 7 -cgi 9 -C >/dev/null

run 0 on_node partita status --gpu 6
shows "7 MIG devices on 1 GPU" "MIG on" "load n/a in MIG mode" \
  "┌ 1g.5gb ┬ 1g.5gb ┬ 1g.5gb ┬ 1g.5gb ┬ 1g.5gb ┬ 1g.5gb ┬ 1g.5gb ┬┄┄┄┄┄┄┄┄┐" \
  "│ CI 0 ○ │ CI 0 ○ │ CI 0 ○ │ CI 0 ○ │ CI 0 ○ │ CI 0 ○ │ CI 0 ○ │ no fit ┊"
run 0 on_node partita status --gpu 7
shows "3g.20gb" "free" "room for " "4× 1g.5gb"

mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 7 --mig "$(grep -o 'GI [0-9]*' "$work/out" | head -1 | cut -c4-)" \
  --memory 2GiB -- sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r pid <"$work/started"
run 0 on_node partita status --gpu 7
shows "● 2.0 GiB" "● $pid sh  2.0 GiB  GI "
run 0 on_node partita status -o json
shows '"uuid": "MIG-' "\"pid\": $pid"
python3 "$source_root/tests/cli/check_status_document.py" "$work/out"
echo >"$work/end"
wait
