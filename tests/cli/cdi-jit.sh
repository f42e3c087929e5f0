#!/usr/bin/env bash
# What partita-hook is told where no agent runs: every device with its name, also a GPU in MIG mode, which is not among
# "all"; as the schema says.
source "$(dirname "$0")/common.sh"

run 6 partita cdi jit --driver-root "$work" --host-root "$work"
up h200-vm
on_node nvidia-smi -mig 1 >/dev/null
on_node nvidia-smi mig -cgi 9,19 -C >/dev/null
run 0 on_node partita cdi jit
silent err
cp "$work/out" "$work/devices.json"
by_schema devices-v1 "$work/devices.json"
cat >"$work/check.py" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
assert [d["cdiName"] for d in document["devices"]] == ["0", "0:0", "0:1"], document["devices"]
assert document["driverVersion"] == "580.159.04" and document["cuda"] == "13.0", document["cuda"]
spec = document["spec"]
assert spec["kind"] == "runtime.nvidia.com/gpu", spec["kind"]
nodes = {d["name"]: len(d["containerEdits"]["deviceNodes"]) for d in spec["devices"]}
assert nodes == {"0": 1, "0:0": 3, "0:1": 3, "all": 5}, nodes
libraries = {f["soname"]: f["of"] for f in document["files"] if f["kind"] == "library"}
assert libraries["libcuda.so.1"] == ["compute"] and libraries["libnvidia-ml.so.1"] == ["utility"], libraries
PY
run 0 python3 -B "$work/check.py" "$work/devices.json"
