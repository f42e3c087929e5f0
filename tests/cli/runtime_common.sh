# Sourced by tests of nvidia-container-runtime, after common.sh: the runtime by its names, and below it a runc that
# writes down how it was called.
mkdir "$work/bin" "$work/bundle"
for name in nvidia-container-runtime{,.cdi,.legacy}; do ln -s "$PARTITA_BIN/partita-hook" "$work/bin/$name"; done
gcc -o "$work/bin/runc" "$source_root/tests/cli/record/record.c"
record=$work/bin/runc.record config=$work/bundle/config.json
PATH=$work/bin:$PATH
export NVIDIA_CTK_CONFIG_FILE_PATH=$work/config.toml
: >"$NVIDIA_CTK_CONFIG_FILE_PATH"

# bundle ENTRY…: of a container with this environment; MORE: members of the document.
bundle() {
  local entries='"PATH=/bin"' entry
  for entry in "$@"; do entries+=",\"$entry\""; done
  printf '{\n\t"ociVersion": "1.0.2",  "future": {"kept": 1.50},\n\t"process": {"env": [%s]}%s\n}\n' "$entries" "${MORE:-}" >"$config"
  cp -p "$config" "$work/before"
  rm -f "$record"
}
# create: as containerd does. RUNTIME: another of its names.
create() { "${RUNTIME:-nvidia-container-runtime}" --root "$work/r" create --bundle "$work/bundle" box; }

forwarded() { [ -e "$record" ] || fail "runc was not called"; }
refused() { [ ! -e "$record" ] || fail "runc was called"; untouched; }
untouched() {
  cmp "$work/before" "$config" || fail "config.json changed"
  [ "$(stat -c %i:%Y "$config")" = "${1:-$(stat -c %i:%Y "$config")}" ] || fail "config.json was written"
}
nodes='" ".join(sorted(d["path"] for d in it.get("linux", {}).get("devices", [])))'
# has EXPRESSION TEXT…: what Python says of the edited document, as `it`.
has() {
  python3 - "$config" "$@" >"$work/has" <<'SCRIPT' || fail "$(cat "$work/has")"
import json, sys
it = json.load(open(sys.argv[1]))
for expression, text in zip(sys.argv[2::2], sys.argv[3::2]):
    if str(eval(expression)) != text:
        sys.exit(print(f"config.json has {eval(expression)}, not {text}: {expression}") or 1)
SCRIPT
}
