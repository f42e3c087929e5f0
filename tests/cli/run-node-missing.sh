#!/usr/bin/env bash
# The driver's library counts what it can open: with a node missing, a number is another device's. Nobody gets that by
# run or a CDI file; by UUID each is who it was.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
uuid() { on_node nvidia-smi -L | sed -n "s/^GPU $1: .*UUID: \(GPU-[^)]*\)).*/\1/p"; }
last=$(uuid 5)
slice=$(on_node nvidia-smi -L | sed -n 's/.*MIG 1g.*UUID: \(MIG-[^)]*\)).*/\1/p')
read -r gi ci <<<"$(caps 0)"
read -r other_gi other_ci <<<"$(caps 1)"

on_node rm "/dev/nvidia-caps/nvidia-cap$ci"
run 1 on_node partita run --gpu 6:0 -- true
complains "6:0: its number may be another's now" "/dev/nvidia-caps/nvidia-cap$ci is missing" "or name it by its UUID"
run 0 on_node partita run --gpu 5 -- true
run 0 on_node partita run --gpu "$slice" -- $(probe)
nodes nvidia6 "nvidia-caps/nvidia-cap$other_gi" "nvidia-caps/nvidia-cap$other_ci"

on_node rm /dev/nvidia3
for id in 3 5 6:1; do
  run 1 on_node partita run --gpu "$id" -- true
  complains "$id: its number may be another's now" "/dev/nvidia3 is missing"
done
run 0 on_node partita run --gpu "$last" -- $(probe)
nodes nvidia5
run 1 on_node partita cdi generate --device-id 5
complains "5: its number may be another's now" "/dev/nvidia3 is missing"
run 3 on_node partita cdi generate --best-effort
complains "names by number that would be others' now are left out" "/dev/nvidia3 is missing"
shows "name: $last"
if grep -E -- '- name: "([3-9]|[0-9]+:)' "$work/out" >"$work/err"; then fail "names by number are given from 3 on"; fi
for number in 0 1 2; do shows "- name: \"$number\""; done
