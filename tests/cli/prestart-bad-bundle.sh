#!/usr/bin/env bash
# A state or bundle that makes no sense is refused with the reason, before anything is touched.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"

# refused STATE TEXT…
refused() {
  printf '%s' "$1" >"$work/state"
  run 1 bash "$work/hook"
  silent out
  complains "nvidia-container-runtime-hook: error: " "${@:2}"
}
container NVIDIA_VISIBLE_DEVICES=0
refused "" "the container's state: "
refused "[]" "the container's state"
refused '{"pid":1}' "the container's state names no bundle by its whole path"
refused '{"pid":1,"bundle":"bundle"}' "the container's state names no bundle by its whole path"
refused "{\"pid\":1,\"bundle\":\"$work/none\"}" "open directory $work/none: No such file or directory"
state="{\"pid\":1,\"bundle\":\"$bundle\"}"
refused "{\"bundle\":\"$bundle\"}" "the container has no process"
for member in ociVersion process root; do
  container NVIDIA_VISIBLE_DEVICES=0
  python3 - "$bundle/config.json" "$member" <<'PY'
import json, sys
with open(sys.argv[1]) as file: spec = json.load(file)
del spec[sys.argv[2]]
with open(sys.argv[1], "w") as file: json.dump(spec, file)
PY
  refused "$state" "$bundle/config.json: there is no \"$member\""
done
echo '{"ociVersion": "1.0.2", "process": {"env": "all"}, "root": {"path": "rootfs"}}' >"$bundle/config.json"
refused "$state" process.env
echo '{"ociVersion": "1.0.2"' >"$bundle/config.json"
refused "$state" config.json
rm "$bundle/config.json"
mkfifo "$bundle/config.json"
refused "$state" config.json
rm "$bundle/config.json"

container NVIDIA_VISIBLE_DEVICES=0
for file in none bad; do
  echo 'disable-require = "perhaps"' >"$work/bad.toml"
  printf '%s' "$state" >"$work/state"
  run 1 bash -c 'exec -a nvidia-container-runtime-hook "$PARTITA_BIN/partita-hook" -config "$0" prestart <"$1"' "$work/$file.toml" "$work/state"
  complains "$work/$file.toml"
done
[ -z "$(find "$rootfs" -type f)" ] || fail "something was made"
