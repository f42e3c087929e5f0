#!/usr/bin/env bash
# A file that is wrong is an error with its place, and stays as it is; so are names and paths.
source "$(dirname "$0")/common.sh"

mkdir "$work/etc"
printf '{"debug": true,}\n' >"$work/etc/daemon.json"
printf 'version = 2\n[plugins\n' >"$work/etc/config.toml"
cp -a "$work/etc" "$work/before"
run 2 partita runtime configure --config "$work/etc/daemon.json"
complains "$work/etc/daemon.json: no valid JSON at byte 15" "it was left as it is"
run 2 partita runtime configure --runtime containerd --config "$work/etc/config.toml"
complains "$work/etc/config.toml:2:9: \"]\" is expected" "    2 | [plugins" "^"
run 2 partita runtime configure --runtime containerd --config "$work/etc/none" --runtime-path bin/x
complains '"bin/x" is no path that begins with "/"'
run 2 partita runtime configure --config "$work/etc/none" --runtime-name ../x
complains '"../x" cannot be a runtime'"'"'s name'
run 2 partita runtime configure --config "$work/etc/none" --config-source command
complains "only containerd can be asked by a command"
run 1 partita runtime configure --config "$work/etc"
diff -r "$work/before" "$work/etc" || fail "something was changed"
