#!/usr/bin/env bash
# A driver that tells what a GPU can make only while MIG is on: the mode first, then what it tells, then
# the instances. The plan says so.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
{
  cat "$source_root/data/nodes/dgx-a100-40.yaml"
  echo "profiles_need_mig: true"
} >"$work/node.yaml"
partita-sim up --file "$work/node.yaml" --node later >"$work/up" 2>&1 || fail "cannot simulate it"
node=later
on_exit+=("partita-sim down --node $node --force >/dev/null 2>&1")

run 0 on_node partita mig plan --gpu 4 --want 3g.20gb,1g.5gb:2 --width 200
shows "enable MIG mode" "reset the GPU" "only while MIG is on"
run 0 on_node partita mig plan --gpu 4 --want 3g.20gb,1g.5gb:2 -o json
shows '"instancesLater": true'
run 3 on_node partita mig assert --gpu 4 --want 3g.20gb,1g.5gb:2
run 5 on_node partita mig apply --gpu 4 --want 3g.20gb,1g.5gb:2 --yes --skip-reset
run 0 on_node partita mig apply --gpu 4 --want 3g.20gb,1g.5gb:2 --yes
shows "applied"
run 0 on_node partita mig assert --gpu 4 --want 3g.20gb,1g.5gb:2
run 0 on_node partita mig apply --gpu 4 --want 7g.40gb --yes
run 0 on_node partita mig assert --gpu 4 --want 7g.40gb

# A name that means nothing is found out only then; the mode goes back.
run 3 on_node partita mig apply --gpu 5 --want 9g.90gb --yes
run 0 on_node partita mig show --gpu 5
shows "MIG off"

# NVIDIA's editor by name.
printf 'version: v1\nmig-configs:\n  all: [{devices: [6], mig-enabled: true, mig-devices: {1g.5gb: 7}}]\n' >"$work/mig.yaml"
run 0 on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c all
run 0 on_node partita mig assert --gpu 6 --want 1g.5gb:7
