#!/usr/bin/env bash
# A process that holds a GPU is shown with its pid, name and memory, and is gone when it ends.
source "$(dirname "$0")/common.sh"

up h200-vm
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 0 --memory 30GiB --util 80 -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' trainer "$work/started" "$work/end" &
read -r pid <"$work/started"

run 0 on_node partita status
shows "1 GPU   1 process" "● $pid sh" "30.0 GiB" "80%"
run 0 on_node partita status -o json
shows "\"pid\": $pid" "\"memoryBytes\": $((30 << 30))" "\"utilizationPercent\": 80"

echo >"$work/end"
wait
run 0 on_node partita status
shows "1 GPU   0 processes"
