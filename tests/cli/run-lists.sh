#!/usr/bin/env bash
# Lists of devices: what says nothing is left out, what is there twice counts once, what says two things is refused.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"

run 0 on_node partita run --gpu '0, ,1,' --gpu 0 -- $(probe)
nodes nvidia0 nvidia1
run 0 on_node partita run --gpu NONE -- $(probe)
nodes
for list in all,0 0,all none,0; do
  run 2 on_node partita run --gpu "$list" -- true
  complains "--gpu: \"${list//[0,]/}\" together with \"0\"" "leave one of them out"
done
run 2 on_node partita run --gpu all --gpu 6:0 -- true
complains '"all" together with "6:0"'
for list in "" , " "; do
  run 2 on_node partita run --gpu "$list" -- true
  complains "--gpu: no device is named" "or all, or none"
done
run 2 on_node partita run --gpu 0,void -- true
complains "none gives no GPU"
