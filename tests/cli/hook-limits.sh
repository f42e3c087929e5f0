#!/usr/bin/env bash
# Limits of whoever starts a hook, and readers that are gone, are errors that it tells: no signal ends it half way.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
mkdir "$rootfs/etc/ld.so.conf.d"
small() {
  in_container bash -c 'ulimit -f 0 && exec "$0/partita-hook" "${@:2}" <"$1"' "$PARTITA_BIN" "$work/state" "$@"
}
run 1 small update-ldcache --folder /opt/driver
[ -z "$(ls -A "$rootfs/etc/ld.so.conf.d")" ] || fail "half a file is left: $(ls -A "$rootfs/etc/ld.so.conf.d")"

# Standard error is a pipe that nobody reads any more.
mkfifo "$work/pipe"
exec 6<>"$work/pipe" 7>"$work/pipe" 6>&-
status=0
"$PARTITA_BIN/partita-hook" create-symlinks --bogus </dev/null 2>&7 || status=$?
[ "$status" -eq 1 ] || fail "exit status $status, not 1"
