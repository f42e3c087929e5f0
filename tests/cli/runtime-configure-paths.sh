#!/usr/bin/env bash
# A file is the same one by whatever path it is named, and another one never is.
source "$(dirname "$0")/common.sh"

mkdir "$work/one" "$work/two"
cd "$work/one"
run 0 partita runtime configure --config daemon.json
shows "$work/one/daemon.json: created"
mine='{"runtimes": {"nvidia": {"path": "/opt/mine"}}}'
echo "$mine" >"$work/two/daemon.json"
cd "$work/two"
run 0 partita runtime configure --config daemon.json --undo
complains "$work/two/daemon.json was not written by this command"
[ "$(cat daemon.json)" = "$mine" ] || fail "a file of the same name elsewhere was changed"

ln -s one "$work/link"
ln -s one/daemon.json "$work/file.json"
for path in "$work/one/daemon.json" "$work/two/../one/daemon.json" "$work/link/daemon.json" "$work/file.json" ../one/daemon.json; do
  run 0 partita runtime configure --config "$path" --undo
  [ ! -e "$work/one/daemon.json" ] || fail "not known as $path"
  run 0 partita runtime configure --config "$work/one/daemon.json"
done

# What containerd imports is a path from the root on.
run 0 partita runtime configure --runtime containerd --config config.toml --drop-in-config 99-nvidia.toml
grep -qx "imports = \[\"$work/two/\*.toml\"\]" config.toml || fail "imports are not absolute"
