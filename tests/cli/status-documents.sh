#!/usr/bin/env bash
# On every ready-made node the documents fit the schema, and YAML says the same as JSON.
source "$(dirname "$0")/common.sh"

for profile in dgx-a100-40 h200-vm hgx-h200 mixed; do
  up "$profile"
  run 0 on_node partita status -o json
  silent err
  python3 -m json.tool "$work/out" >/dev/null
  cp "$work/out" "$work/$profile.json"
  run 0 on_node partita status -o yaml
  [ "$(grep -c '^  - index: ' "$work/out")" -eq "$(grep -c '^      "index": ' "$work/$profile.json")" ] ||
    fail "$profile: YAML and JSON list different GPUs"
done
run 0 python3 "$source_root/tests/cli/check_status_document.py" "$work"/*.json
