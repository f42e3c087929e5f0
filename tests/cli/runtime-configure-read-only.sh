#!/usr/bin/env bash
# On a read-only or full disk there is a clear error, and nothing is half done.
source "$(dirname "$0")/common.sh"

mkdir "$work/etc" "$work/small"
printf '{}\n' >"$work/etc/daemon.json"
try() {
  unshare --mount bash -c "$1; \"\$@\"" - "${@:2}"
}
run 1 try "mount --bind '$work/etc' '$work/etc' && mount -o remount,ro,bind '$work/etc'" \
  partita runtime configure --runtime docker --config "$work/etc/daemon.json"
complains "$work/etc/daemon.json" "Read-only file system"
[ "$(ls "$work/etc")" = daemon.json ] || fail "something was left behind"
[ "$(cat "$work/etc/daemon.json")" = "{}" ] || fail "the file was changed"

# The drop-in fits, the main file no longer does: both are as they were.
full="mount -t tmpfs -o size=56k none '$work/small' && cd '$work/small' && head -c 20000 /dev/zero | tr '\\0' '#' >config.toml &&
  printf '\\nversion = 2\\n' >>config.toml && sha256sum config.toml >'$work/sum'"
run 1 try "$full" bash -c 'partita runtime configure --runtime containerd --config "$PWD/config.toml" \
  --drop-in-config "$PWD/99-nvidia.toml"; status=$?; ls >&2; sha256sum -c "$0" >&2; exit $status' "$work/sum"
complains "No space left on device" "config.toml: OK"
if grep -q "bak-\|99-nvidia" <(sed -n '/No space/d;p' "$work/err"); then fail "something was left behind"; fi
