#!/usr/bin/env bash
# Every command of the transcript that was taken on an H200, with its answer and exit status.
source "$(dirname "$0")/common.sh"
up h200-vm
mkdir "$work/mps"
chmod 755 "$work" "$work/mps"
on_node python3 -B "$source_root/sim/mps/tests/transcript.py" "$source_root/data/captures/h200/mps.txt" \
  "$client" "$work/mps"
