#!/usr/bin/env bash
# A link to a file that is not there yet: the file is made for root alone to write, undo takes the
# file and leaves the link.
source "$(dirname "$0")/common.sh"

umask 022
mkdir "$work/etc"
try() {  # LINK COMMAND…: LINK is one to a file that does not exist
  local link=$1
  ln -sf "there/${link##*/}" "$link"
  run 0 partita runtime configure "${@:2}"
  [ "$(stat -Lc %a "$link")" = 644 ] || fail "$link leads to a file of mode $(stat -Lc %a "$link")"
  run 0 partita runtime configure "${@:2}" --undo
  [ -L "$link" ] || fail "the link $link is gone"
  [ ! -e "$link" ] || fail "what $link leads to is still there"
  [ "$(readlink "$link")" = "there/${link##*/}" ] || fail "$link leads elsewhere"
}
try "$work/etc/daemon.json" --config "$work/etc/daemon.json"
try "$work/etc/config.toml" --runtime containerd --config "$work/etc/config.toml" --drop-in-config "$work/etc/d/99-nvidia.toml"
mkdir -p "$work/etc/d"
try "$work/etc/d/99-nvidia.toml" --runtime containerd --config "$work/etc/config.toml" --drop-in-config "$work/etc/d/99-nvidia.toml"
try "$work/etc/hook.json" --runtime podman --config "$work/etc/hook.json"

# The umask counts.
umask 077
run 0 partita runtime configure --config "$work/etc/closed.json"
[ "$(stat -c %a "$work/etc/closed.json")" = 600 ] || fail "the umask was passed over"
