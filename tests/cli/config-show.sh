#!/usr/bin/env bash
# A flag wins over a variable, that over the file, the file over the default; --origin says which it was.
source "$(dirname "$0")/common.sh"
unset PARTITA_CONFIG_FILE NODE_NAME PARTITA_LISTEN PARTITA_LOG_FORMAT PARTITA_LOG_LEVEL
check=$source_root/tests/cli/check_mig_documents.py
file=$work/config.yaml
printf 'version: partita/v1\nlisten: 127.0.0.1:1\nlog: {level: warn, format: json}\nmig:\n  default: some\n' >"$file"

# origin KEY VALUE WHERE: in the last table.
origin() {
  grep -qE "^$1 +$2 +$3\$" "$work/out" || fail "$1 is not $2 from $3"
}
run 0 env PARTITA_LOG_LEVEL=error PARTITA_LISTEN=127.0.0.1:2 \
  partita config show --origin -f "$file" --listen 127.0.0.1:3 --host-root /host
silent err
origin listen 127.0.0.1:3 --listen
origin log.level error PARTITA_LOG_LEVEL
origin log.format json "$file:3:28"
origin mig.default some "$file:5:12"
origin node.hostRoot /host --host-root
origin node.name '""' default

# As a document, and as a file that means the same.
run 0 partita config show --origin -o json -f "$file"
cp "$work/out" "$work/origins.json"
run 0 python3 -B "$check" config-v1 "$work/origins.json"
run 0 partita config show -o json -f "$file"
cp "$work/out" "$work/config.json"
run 0 python3 -B "$check" agent-config-v1 "$work/config.json"
run 0 partita config show -f "$file"
cp "$work/out" "$work/again.yaml"
run 0 partita config show -f "$work/again.yaml"
cmp "$work/out" "$work/again.yaml" || fail "what is shown reads as something else"

# The schema knows every key.
run 0 python3 - "$source_root/apis/agent-config-v1.schema.json" "$work/config.json" <<'PY'
import json, sys
schema, shown = (json.load(open(path)) for path in sys.argv[1:])
keys = lambda map, inner: {f"{k}.{n}" for k in map for n in inner(map[k])} | {k for k in map if not inner(map[k])}
wanted = keys(schema["properties"], lambda s: s.get("properties", {}))
there = keys(shown, lambda v: v if isinstance(v, dict) else {})
sys.exit(f"only in one of them: {wanted ^ there}" if wanted != there else 0)
PY

# A wrong variable is told by its name.
run 2 env PARTITA_LISTEN=nowhere partita config show
complains "PARTITA_LISTEN" "\"nowhere\" is no address to listen on"
