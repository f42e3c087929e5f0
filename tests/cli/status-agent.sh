#!/usr/bin/env bash
# With an agent running, status shows what the agent sees, which is what it would see itself; a GPU that no
# longer answers the agent is shown as it was, with its age, and delays nobody.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
run 0 on_node partita mig apply --gpu 1 --want 3g.20gb,1g.5gb --yes
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
# Faults name the GPU, whoever looks.
partita-sim set --node "$node" --gpu 3 ecc-volatile-uncorrected=2 ecc-aggregate-uncorrected=2 >/dev/null
partita-sim set --node "$node" --gpu 4 rows-pending=yes >/dev/null

# The document without what differs from one look to the next.
lasting() {
  python3 -c '
import json, sys
document = json.load(open(sys.argv[1]))
for key in ("time", "generation"):
    del document[key]
for gpu in document["gpus"]:
    del gpu["readings"]
print(json.dumps(document, indent=1))' "$work/out"
}
run 0 on_node partita status -o json
silent err
lasting >"$work/through"
library=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["driver"]["libraryPath"])' <"$work/out")
# Options that name the driver keep the agent out of it.
run 0 on_node partita status -o json --library "$library"
silent err
lasting >"$work/direct"
diff "$work/through" "$work/direct" >&2 || fail "the agent and the command see different nodes"

# Late is not silent: that it is when its call has had its time.
partita-sim fault call '*' --hang --gpu 2 --node "$node" >/dev/null
until run 0 on_node partita status && grep -q "last answered [0-9]* s ago" "$work/out"; do
  [ "$SECONDS" -lt 50 ] || fail "a GPU that hangs has no age"
done
silent err
shows "8 GPUs"
[ "$(grep -c '^   memory ' "$work/out")" -eq 8 ] || fail "a GPU is not shown as it was"
run 0 on_node partita status -o json --gpu 2
python3 "$source_root/tests/cli/check_status_document.py" "$work/out" >&2 || fail "the document does not fit"
shows '"stale": {' '"ageSeconds": '
