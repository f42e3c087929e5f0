#!/usr/bin/env bash
# On the simulated h200-vm the program of this build says what the real driver said.
# Usage: simulated-h200.sh status|mig|mig-layouts|labels CAPTURES
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
captures=$2
PARTITA_SIM_DIR=$(mktemp -d)
export PARTITA_SIM_DIR PARTITA_SIM_NODE=h200
trap '"$PARTITA_BIN/partita-sim" down --force >/dev/null 2>&1; rm -rf "$PARTITA_SIM_DIR"' EXIT

"$PARTITA_BIN/partita-sim" up h200-vm >/dev/null
# says FILE COMMAND…: what partita prints there.
says() { "$PARTITA_BIN/partita-sim" run -- "$PARTITA_BIN/partita" "${@:2}" >"$PARTITA_SIM_DIR/$1"; }
case $1 in
status)
  says status.json status --output json
  python3 "$here/compare_status.py" "$PARTITA_SIM_DIR/status.json" \
    "$captures/nvml-probe.jsonl" "$captures/mig-profiles.txt"
  ;;
mig)
  says profiles.json mig profiles --output json
  python3 "$here/compare_mig.py" "$PARTITA_SIM_DIR/profiles.json" "$captures/mig-profiles.txt"
  ;;
mig-layouts)
  says layouts.txt mig layouts --width 100
  says plan.txt mig plan --want 1g.18gb:2,2g.35gb,3g.71gb || [ $? = 3 ] # there is something to do
  python3 "$here/compare_mig_layouts.py" "$PARTITA_SIM_DIR/layouts.txt" "$PARTITA_SIM_DIR/plan.txt" \
    "$captures/mig-profiles.txt"
  ;;
labels)
  # As docs/hardware/h200/labels.txt has them: each command, then what it prints.
  ln -s "$PARTITA_BIN/partita" "$PARTITA_SIM_DIR/gpu-feature-discovery"
  prints() {
    echo "$ $*"
    "$PARTITA_BIN/partita-sim" run -- "$@"
  }
  PATH=$PARTITA_BIN:$PARTITA_SIM_DIR:$PATH
  {
    prints partita labels show --explain
    prints partita labels show --reference
    prints gpu-feature-discovery --oneshot --no-timestamp --output-file= --use-node-feature-api=false
  } >"$PARTITA_SIM_DIR/labels.txt"
  python3 "$here/compare_labels.py" "$PARTITA_SIM_DIR/labels.txt" "$captures/smi.xml" "$captures/nvml-probe.jsonl"
  ;;
*) exit 2 ;;
esac
