#!/usr/bin/env bash
# A hook that is killed takes ldconfig along: nothing of it works on in a container that nobody makes any more.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
# It says that it lives by a pipe that it holds, and waits for what never comes.
cat >"$work/waits.c" <<'C'
#include <fcntl.h>
#include <unistd.h>
int main(void) {
  const int alive = open("/etc/alive", O_WRONLY);
  if (write(alive, "x\n", 2) != 2) return 1;
  return open("/etc/never", O_RDONLY);
}
C
gcc -static -O1 -w -o "$work/waits" "$work/waits.c"
mkfifo "$rootfs/etc/alive" "$rootfs/etc/never"
(exec unshare --mount --propagation private bash -c \
  'mount --rbind "$0" "$0" && exec "$1/partita-hook" update-ldcache --ldconfig-path "$2" <"$3"' \
  "$rootfs" "$PARTITA_BIN" "$work/waits" "$work/state") &
hook=$!
exec 3<"$rootfs/etc/alive"
read -r -u 3 -t 60 line || fail "it was not run"
kill -KILL "$hook"
status=0
read -r -u 3 -t 20 line || status=$?
[ "$status" -eq 1 ] || fail "it lives on"
