#!/usr/bin/env bash
# A checkpoint brings every instance back to the place where it was, after a wipe too.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up mixed
on_node nvidia-smi -i 2 -mig 1 >/dev/null
on_node nvidia-smi -r -i 2 >/dev/null
on_node nvidia-smi mig -i 2 -cgi 14,19,9 -C >/dev/null
run 0 on_node partita mig checkpoint -f "$work/checkpoint.json"
silent out
grep -qF '"MigMode": 1' "$work/checkpoint.json" || fail "the checkpoint lacks the mode"
run 0 on_node partita mig show -o json
grep -E '"(profile|start)"' "$work/out" | sort >"$work/before"

run 0 on_node partita mig apply --gpu 2 --want 1g.5gb:7
run 0 on_node partita mig restore -f "$work/checkpoint.json"
shows "applied"
run 0 on_node partita mig show -o json
grep -E '"(profile|start)"' "$work/out" | sort | cmp - "$work/before" || fail "places differ"
run 0 on_node partita mig restore -f "$work/checkpoint.json"
shows "plan: nothing to do"

echo '{"Version": "v2", "MigState": {"Devices": [{"UUID": "GPU-x", "MigMode": 2}]}}' >"$work/bad.json"
run 2 on_node partita mig restore -f "$work/bad.json"
complains "bad.json:1:13: unknown version" "GpuInstances"

# One GPU twice: the second entry would destroy what the first keeps.
python3 - "$work/checkpoint.json" >"$work/twice.json" <<'PY'
import json, sys
state = json.load(open(sys.argv[1]))
devices = state["MigState"]["Devices"]
devices.append(dict(next(d for d in devices if d["GpuInstances"]), GpuInstances=None))
print(json.dumps(state, indent=1))
PY
run 2 on_node partita mig restore -f "$work/twice.json"
complains "twice.json:" 'is in "Devices" twice' "the other is in line"
run 0 on_node partita mig show -o json
grep -E '"(profile|start)"' "$work/out" | sort | cmp - "$work/before" || fail "instances were destroyed"
