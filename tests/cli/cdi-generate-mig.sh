#!/usr/bin/env bash
# A GPU in MIG mode is there as its MIG devices, each with its three nodes.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
on_node nvidia-smi -i 7 -mig 1 >/dev/null
on_node nvidia-smi -r -i 7 >/dev/null
run 1 on_node partita cdi generate --device-id 7:0
complains "7:0: unknown device"
on_node nvidia-smi mig -i 7 -cgi 9,19 -C >/dev/null

run 0 on_node partita cdi generate --device-name-strategy index -o json
cp "$work/out" "$work/spec.json"
python3 - "$work/spec.json" <<'PYTHON' || fail "not the devices of this node"
import json, sys
devices = {d["name"]: d["containerEdits"] for d in json.load(open(sys.argv[1]))["devices"]}
assert sorted(devices) == ["0", "1", "2", "3", "4", "5", "6", "7:0", "7:1", "all"], sorted(devices)
for name in ("7:0", "7:1"):
    nodes = devices[name]["deviceNodes"]
    assert [n["path"] for n in nodes][0] == "/dev/nvidia7", nodes
    assert len(nodes) == 3 and all("nvidia-cap" in n["path"] for n in nodes[1:]), nodes
assert len(devices["all"]["deviceNodes"]) == 8 + 4, devices["all"]
PYTHON

# One whose node is missing is refused by name, and left out where the rest will do. In a /dev of its own: of a slice
# whose node it cannot open the library would not tell at all.
mkdir "$work/dev-root"
cp -a "$PARTITA_SIM_DIR/$node/dev" "$work/dev-root/"
cap=$(ls "$work/dev-root/dev/nvidia-caps" | sort -V | tail -1)
rm "$work/dev-root/dev/nvidia-caps/$cap"
run 1 on_node partita cdi generate --dev-root "$work/dev-root"
complains "/dev/nvidia-caps/$cap is missing, which" "with --best-effort"
silent out
run 3 on_node partita cdi generate --dev-root "$work/dev-root" --best-effort
complains "/dev/nvidia-caps/$cap is missing, which"
shows "name: all"
