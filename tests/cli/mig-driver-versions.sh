#!/usr/bin/env bash
# Who uses a GPU is known under every driver: the calls that list processes come and go between
# versions and change their records under one name. Work is never destroyed by what a library lacks.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
mkfifo "$work"/{started,end}.{1,2}

# start GI: a workload there; its pid is in $pid.
start() {
  partita-sim workload start --node "$node" --gpu 4 --mig "$1" --memory 1GiB -- \
    sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started.$1" "$work/end.$1" &
  read -r pid <"$work/started.$1"
  on_exit+=("kill $pid 2>/dev/null")
}

# 535.54.03 writes longer records under _v3; 535.98 has no _v3 at all, like 470.
for version in 470.256.02 535.54.03 535.98 535.104.05 550.54.14 580.159.04; do
  sed "s/version: 580.159.04/version: $version/" "$source_root/data/nodes/dgx-a100-40.yaml" >"$work/node.yaml"
  node=driver-${version//./-}
  partita-sim up --file "$work/node.yaml" --node "$node" >"$work/up" 2>&1 || fail "cannot simulate $version"
  on_exit+=("partita-sim down --node $node --force >/dev/null 2>&1")
  on_node nvidia-smi -i 4 -mig 1 >/dev/null
  on_node nvidia-smi -r -i 4 >/dev/null
  on_node nvidia-smi mig -i 4 -cgi 9,9 -C >/dev/null
  start 1
  first=$pid
  start 2
  run 0 on_node partita mig export
  cp "$work/out" "$work/before"

  run 0 on_node partita status --width 120
  shows "● $first sh" "● $pid sh"
  for want in off none 7g.40gb; do
    run 4 on_node partita mig plan --gpu 4 --want "$want"
    shows "blocked until these end:" "● $first sh" "● $pid sh"
    run 4 on_node partita mig apply --gpu 4 --want "$want" --yes
    shows "● $first sh" "● $pid sh"
  done
  run 0 on_node partita mig export
  cmp "$work/before" "$work/out" || fail "$version: a blocked apply changed something"
  run 0 on_node partita mig apply --gpu 4 --want 3g.20gb:2 --yes
  echo >"$work/end.1"
  echo >"$work/end.2"
  wait
  partita-sim down --node "$node" >/dev/null
done
