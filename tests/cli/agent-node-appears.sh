#!/usr/bin/env bash
# A GPU whose device node was missing when the agent began, and that gets it later: its index and everybody else's are
# the driver's own, in CDI files, in what partita-hook reads and in status; never do two GPUs have one index.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up mixed
agent_on=(partita-sim run --node "$node" --)
spec=$PARTITA_CDI_DIR/nvidia.yaml

# indexes: "INDEX MINOR" of each whole GPU that partita-hook is told of.
indexes() {
  python3 - "$PARTITA_RUN_DIR/devices.json" <<'PYTHON'
import json, sys
rows = [r for r in json.load(open(sys.argv[1]))["devices"] if "mig" not in r]
print(*sorted(f"{r['index']}:{r['minor']}" for r in rows))
PYTHON
}
start_agent first
await first READY=1
[ "$(indexes)" = "0:0 1:1 2:2" ] || fail "indexes $(indexes)"
on_node rm /dev/nvidia1
kill "${agent[first]}"
ended first 0

start_agent it
await it READY=1
[ "$(indexes)" = "0:0 1:2" ] || fail "without its node: indexes $(indexes)"
on_node mknod -m 666 /dev/nvidia1 c 195 1
has_all() { [ "$(indexes)" = "0:0 1:1 2:2" ]; }
until_true has_all
run 0 on_node partita cdi generate
cmp "$work/out" "$spec" || fail "the agent's file is another than the command's"
