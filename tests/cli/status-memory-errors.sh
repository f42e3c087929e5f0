#!/usr/bin/env bash
# Uncorrected memory errors and rows of memory that wait for a reset, or could not be remapped, are
# drawn and in the document, with what to do; a board that is well is not mentioned.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
run 0 on_node partita status
! grep -qE "uncorrected|remapp" "$work/out" || fail "it complains of GPUs that are well"
partita-sim set --node "$node" --gpu 1 ecc-volatile-uncorrected=2 ecc-aggregate-uncorrected=5 >/dev/null
partita-sim set --node "$node" --gpu 2 rows-pending=yes rows-uncorrected=1 >/dev/null
partita-sim set --node "$node" --gpu 3 rows-failed=yes >/dev/null

run 0 on_node partita status --gpu 1 --width 120
shows "memory errors: 2 uncorrected since its last reset" "nvidia-smi -r -i 1" "uncorrected errors 5 in all"
run 0 on_node partita status --gpu 2 --width 120
shows "row remapping pending: a bad row of memory is replaced at the next reset" "nvidia-smi -r -i 2" \
  "rows remapped 1"
run 0 on_node partita status --gpu 3 --width 120
shows "row remapping failed: a bad row of memory could not be replaced" "have the board replaced"

run 0 on_node partita status -o json
cp "$work/out" "$work/status.json"
python3 - "$work/status.json" <<'PYTHON' || fail "another document"
import json, sys
gpus = json.load(open(sys.argv[1]))["gpus"]
kinds = [[fault["kind"] for fault in gpu["faults"]] for gpu in gpus]
assert kinds[:5] == [[], ["memory-errors"], ["row-remapping-pending"], ["row-remapping-failed"], []], kinds
assert gpus[1]["ecc"]["uncorrectedErrors"] == 2 and gpus[1]["ecc"]["uncorrectedErrorsInAll"] == 5
assert gpus[2]["rowRemapping"] == {
    "correctedRows": 0, "uncorrectedRows": 1, "pending": True, "failed": False}
assert gpus[0]["ecc"]["uncorrectedErrors"] == 0 and not gpus[0]["rowRemapping"]["pending"]
PYTHON
run 0 python3 "$source_root/tests/cli/check_status_document.py" "$work/status.json"
