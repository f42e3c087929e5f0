#!/usr/bin/env bash
# Every engine: configured, a second time without effect, and taken back byte for byte.
source "$(dirname "$0")/common.sh"

mkdir "$work/etc"
printf '{\r\n\t"debug" : true\r\n}' >"$work/etc/daemon.json"
printf '# mine\nversion = 2 # two\n' >"$work/etc/config.toml"
cp -a "$work/etc" "$work/before"
docker=(--runtime docker --set-as-default --enable-cdi --config "$work/etc/daemon.json")
containerd=(--runtime containerd --config "$work/etc/config.toml" --drop-in-config "$work/etc/99-nvidia.toml")
podman=(--runtime podman --config "$work/etc/hook.json")

run 0 partita runtime configure "${docker[@]}"
shows "$work/etc/daemon.json: edited; as it was: $work/etc/daemon.json.bak-1" "systemctl restart docker"
run 0 partita runtime configure "${containerd[@]}"
shows "$work/etc/99-nvidia.toml: created" "$work/etc/config.toml: edited"
run 0 partita runtime configure "${podman[@]}"
shows "$work/etc/hook.json: created"
complains "use one of them"
grep -q '"default-runtime": "nvidia"' "$work/etc/daemon.json" || fail "no default"
grep -qx "imports = \[\"$work/etc/\*.toml\"\]" "$work/etc/config.toml" || fail "no import"

# For programs: edited with a backup, nothing to do, taken back.
run 0 partita runtime configure --undo "${docker[@]}" -o json
by_schema runtime-v1 "$work/out"
shows '"change": "edited"' '"done": true'
run 0 partita runtime configure "${docker[@]}" -o json
by_schema runtime-v1 "$work/out"
shows "daemon.json.bak-"
run 0 partita runtime configure "${docker[@]}" -o json
by_schema runtime-v1 "$work/out"
shows '"files": []'
run 0 partita runtime configure --undo "${podman[@]}" -o json
by_schema runtime-v1 "$work/out"
shows '"change": "removed"'
run 0 partita runtime configure "${podman[@]}"

for engine in docker containerd podman; do
  declare -n words=$engine
  run 0 partita runtime configure "${words[@]}"
  shows "nothing to change"
  run 0 partita runtime configure --undo "${words[@]}"
  run 0 partita runtime configure --undo "${words[@]}"
  shows "nothing to change"
done
diff -r "$work/before" "$work/etc" || fail "something is left"
