#!/usr/bin/env bash
# `partita status` inside simulated nodes, where it finds the driver as on a real machine: by the
# loader, /dev, /proc and /sys. What it says must be what the simulator says of itself, on every
# machine, with MIG devices and holders, and while things are broken.
set -euo pipefail

: "${PARTITA_BIN:?the directory of the built programs}"
if [ "$(id -u)" -ne 0 ]; then
  echo "SKIPPED: a simulated node needs device nodes and mounts; run this as root" >&2
  exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-inventory.XXXXXX")
export LC_ALL=C.UTF-8 PARTITA_SIM_DIR=$work/nodes
unset PARTITA_OUTPUT PARTITA_DRIVER_ROOT PARTITA_LIBRARY PARTITA_HOST_ROOT
mkdir "$PARTITA_SIM_DIR"
sim() { "$PARTITA_BIN/partita-sim" "$@"; }

background=
finish() {
  [ -z "$background" ] || kill "$background" 2>/dev/null || true
  sim down --node node --force >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

# agree WHAT [FACT…]: status and simulator agree, and these facts hold too (see agree.py).
agree() {
  local what=$1 status=0
  shift
  sim show --node node --output json >"$work/show"
  sim run --node node -- "$PARTITA_BIN/partita" status --output json >"$work/status" 2>"$work/err" ||
    status=$?
  python3 "$here/agree.py" "$work/show" "$work/status" "$status" "$@" || {
    echo "FAILED: $profile: $what; partita status ended with $status" >&2
    cat "$work/err" >&2
    exit 1
  }
}
smi() { sim run --node node -- nvidia-smi "$@" >/dev/null; }

for profile in dgx-a100-40 hgx-h200 h200-vm mixed; do
  sim up "$profile" --node node >/dev/null
  agree "as it came up" exit=0
  sim driver unload --node node >/dev/null
  agree "without a driver" exit=6
  sim driver load --node node >/dev/null
  agree "with the driver again" exit=0
  sim down --node node >/dev/null
done

profile=dgx-a100-40
sim up $profile --node node >/dev/null
sim set --node node --gpu 0,1 mig=on >/dev/null
smi mig -i 0 -cgi 9,14,19 -C
smi mig -i 1 -cgi 19,19,19,19,19,19,19 -C
agree "with MIG devices" mig-devices=10

slice=$(sim show --node node --output json |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][1]["mig"]["instances"][2]["id"])')
# Not through the function: the process to kill later must be the holder itself.
"$PARTITA_BIN/partita-sim" workload start --node node --gpu 1 --mig "$slice:0" --memory 1GiB \
  --util 40 -- sleep 1000 >/dev/null &
background=$!
limit=$((SECONDS + 60)) # far above what it takes
until sim workload list --node node | grep -q sleep; do
  [ $SECONDS -lt $limit ] || { echo "FAILED: in vain awaited: the workload in the list of node" >&2; exit 1; }
done
agree "with a process in a slice" processes=1
kill "$background"
wait "$background" || true
background=
agree "after the process" processes=0

sim set --node node --gpu 2 pci-driver=vfio >/dev/null
agree "with a GPU of a virtual machine" vfio=1
sim set --node node --gpu 2 pci-driver=nvidia >/dev/null
sim set --node node --gpu 6 recovery-action=gpu-reset >/dev/null
agree "with a GPU that wants a reset" fault=6:recovery-action
sim set --node node --gpu 6 recovery-action=none >/dev/null

sim fault call nvmlDeviceGetPowerUsage --node node --gpu 4 --fail UNKNOWN >/dev/null
agree "with a call that fails" problem=4:nvmlDeviceGetPowerUsage
sim fault clear --node node --all >/dev/null
sim fault call nvmlDeviceGetPowerUsage --node node --gpu 5 --hang >/dev/null
agree "with a call that hangs" fault=5:hung
sim fault clear --node node --all >/dev/null
# A node that something else covers cannot be opened, and the driver's library leaves its GPU out.
sim run --node node -- sh -c \
  'mount --bind /dev/null /dev/nvidia4 && exec "$0" status --output json' \
  "$PARTITA_BIN/partita" >"$work/status"
python3 - "$work/status" <<'END'
import json, sys
gpus = json.load(open(sys.argv[1], encoding="utf-8"))["gpus"]
missing = [gpu["minor"] for gpu in gpus if [fault["kind"] for fault in gpu["faults"]] == ["missing"]]
sys.exit(0 if missing == [4] and len(gpus) == 8 else f"missing GPUs: {missing} of {len(gpus)}")
END

sim fault lost --node node --gpu 3 >/dev/null
agree "with a GPU off the bus" fault=3:lost
sim reboot --node node >/dev/null
agree "after a reboot" exit=0
echo "status and simulator agree"
