#!/usr/bin/env bash
# One GPU of eight whose every call hangs: through the agent the other seven stay fresh, instances come and go
# on another, a mode change is refused naming the GPU that holds the session, and works once it is back.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
run 0 on_node partita mig apply --gpu 1 --want none --yes
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
run 0 on_node partita status -o json
python3 - "$work/out" >"$work/address" <<'PY'
import json, sys
for gpu in json.load(open(sys.argv[1]))["gpus"]:
    if gpu["index"] == 2:
        print(gpu["pciAddress"])
PY
address=$(cat "$work/address")

partita-sim fault call '*' --hang --gpu 2 --node "$node" >/dev/null
# Late is not silent: that it is when its call has had its time.
until run 0 on_node partita status -o json && grep -q '"stale": {' "$work/out"; do
  [ "$SECONDS" -lt 50 ] || fail "a GPU that hangs has no age"
done
silent err
python3 - "$work/out" <<'PY' || fail "another GPU is stale, or none"
import json, sys
gpus = json.load(open(sys.argv[1]))["gpus"]
assert len(gpus) == 8
assert [gpu["index"] for gpu in gpus if "stale" in gpu] == [2]
assert all(gpu["readings"] for gpu in gpus if gpu["index"] != 2)
PY

# How long status took, for people: `ctest -V -R hung-gpu`.
began=$(date +%s%N)
run 0 on_node partita status
echo "status beside a GPU that hangs: $((($(date +%s%N) - began) / 1000000)) ms"

run 0 on_node partita mig apply --gpu 1 --want 3g.20gb,1g.5gb --yes
run 0 on_node partita mig apply --gpu 1 --want none --yes

run 4 on_node partita mig apply --gpu 5 --want none --yes
complains "the driver cannot be released" "on GPU $address"
# It was refused before anything was asked for: no mode waits for a reset that cannot come.
run 0 on_node partita mig apply --gpu 5 --want off --yes
shows "nothing to do"
partita-sim fault clear --node "$node" --all >/dev/null
until run 0 on_node partita status -o json && ! grep -q '"stale": {' "$work/out"; do
  [ "$SECONDS" -lt 80 ] || fail "the GPU does not come back"
done
run 0 on_node partita mig apply --gpu 5 --want none --yes
run 0 on_node partita mig assert --gpu 5 --want none
