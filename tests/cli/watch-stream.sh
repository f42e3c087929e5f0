#!/usr/bin/env bash
# Into a pipe --watch writes one report after another: JSON a line each, YAML behind ---.
source "$(dirname "$0")/common.sh"

up h200-vm
run 0 on_node partita status --watch 0.1 --count 3 -o json
python3 -c '
import json, sys
looks = [json.loads(line)["generation"] for line in sys.stdin]
assert looks == [1, 2, 3], looks' <"$work/out"
run 0 on_node partita status --watch 0.1 --count 2 -o yaml
[ "$(grep -c '^---$' "$work/out")" -eq 2 ] || fail "not two YAML documents"
run 0 on_node partita status --watch 0.1 --count 2
[ "$(grep -c '^── GPU 0 ' "$work/out")" -eq 2 ] || fail "not two drawings"
