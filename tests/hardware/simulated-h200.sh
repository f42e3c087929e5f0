#!/usr/bin/env bash
# The simulated h200-vm says what the real one said. Usage: simulated-h200.sh CONVERSATION MIG_PROFILES
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
PARTITA_SIM_DIR=$(mktemp -d)
export PARTITA_SIM_DIR PARTITA_SIM_NODE=h200
trap '"$PARTITA_BIN/partita-sim" down --force >/dev/null 2>&1; rm -rf "$PARTITA_SIM_DIR"' EXIT

"$PARTITA_BIN/partita-sim" up h200-vm >/dev/null
"$PARTITA_BIN/partita-sim" run -- "$PARTITA_BIN/partita" status --output json >"$PARTITA_SIM_DIR/status.json"
python3 "$here/compare_status.py" "$PARTITA_SIM_DIR/status.json" "$1" "$2"
