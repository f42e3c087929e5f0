#!/usr/bin/env bash
# Every document that `partita mig` prints fits its schema, on nodes with and without MIG, busy, refused
# and changed; and docs/mig-schema.md names every field.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
check=$source_root/tests/cli/check_mig_documents.py
# fits SCHEMA KIND STATUS COMMAND…: what it prints is of this kind and fits.
fits() {
  local schema=$1 kind=$2 status=$3
  shift 3
  run "$status" on_node partita mig "$@" -o json
  cp "$work/out" "$work/document.json"
  [ -z "$kind" ] || shows "\"kind\": \"$kind\""
  run 0 python3 -B "$check" "$schema" "$work/document.json"
}

run 0 python3 -B "$check"
up mixed
fits mig-v1 MigState 0 show
fits mig-v1 MigProfiles 0 profiles
fits mig-v1 MigLayouts 0 layouts --all
fits mig-v1 MigPlan 0 plan --gpu 2 --want 3g.20gb,1g.5gb:2
fits mig-v1 MigPlan 2 plan --gpu 2 --want 3g.20gb:3
fits mig-v1 MigDiff 3 diff --gpu 2 --want 3g.20gb,1c.2g.10gb:2
fits mig-v1 MigResult 0 apply --gpu 2 --want 3g.20gb,1c.2g.10gb:2 --yes
fits mig-v1 MigAssertion 0 assert --gpu 2 --want 3g.20gb,1c.2g.10gb:2
fits mig-v1 MigAssertion 3 assert --gpu 2 --want 7g.40gb
fits mig-v1 MigState 0 show
fits mig-config-v1 "" 0 export
fits mig-config-v1 "" 0 generate-config
run 0 on_node partita mig export -o json
cp "$work/out" "$work/now.json"
fits mig-v1 MigValidation 0 validate -f "$work/now.json"
run 0 on_node partita mig checkpoint -f "$work/checkpoint.json"
run 0 python3 -B "$check" mig-checkpoint-v1 "$work/checkpoint.json"
fits mig-v1 MigResult 0 restore -f "$work/checkpoint.json" --yes

# Somebody uses a slice: holders and blockers.
run 0 on_node partita mig show -o json
gi=$(grep -B1 '"profile": "3g.20gb"' "$work/out" | grep -o '[0-9]*' | head -1)
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 2 --mig "$gi" --memory 1GiB -- \
  sh -c 'echo >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r _ <"$work/started"
fits mig-v1 MigState 0 show
fits mig-v1 MigPlan 4 plan --gpu 2 --want 7g.40gb
echo >"$work/end"
wait

# What does not fit is told.
sed 's/"kind": "MigPlan"/"kind": "MigPlan", "surplus": 1/' "$work/document.json" >"$work/surplus.json"
run 1 python3 -B "$check" mig-v1 "$work/surplus.json"
complains "surplus is not in the schema"
