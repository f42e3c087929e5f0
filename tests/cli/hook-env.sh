#!/usr/bin/env bash
# An environment, descriptors and a working directory that an image chose change nothing: no file that they name is
# opened (CVE-2025-23266), and nothing is inherited.
source "$(dirname "$0")/common.sh"
mkdir -p "$work/bundle/rootfs/usr/lib" "$work/evil/C.UTF-8/LC_MESSAGES"
echo '{"root":{"path":"rootfs"}}' >"$work/bundle/config.json"
echo "{\"bundle\":\"$work/bundle\"}" >"$work/state"
gcc -shared -fPIC -x c -o "$work/evil/evil.so" - <<'C'
#include <fcntl.h>
#include <stdlib.h>
__attribute__((constructor)) static void Loaded(void) { open(getenv("EVIL_MARK"), O_CREAT | O_WRONLY, 0600); }
C
evil=$work/evil
export EVIL_MARK=$work/mark
hostile=(LD_PRELOAD="$evil/evil.so" LD_LIBRARY_PATH="$evil" LD_AUDIT="$evil/evil.so" LOCPATH="$evil" LC_ALL=C.UTF-8 LANG=C.UTF-8
  LANGUAGE=evil NLSPATH="$evil/%N" GCONV_PATH="$evil" GLIBC_TUNABLES=glibc.malloc.check=3 PATH="$evil" TMPDIR="$evil"
  HOSTALIASES="$evil/evil.so" RESOLV_HOST_CONF="$evil/evil.so" TZDIR="$evil" MALLOC_TRACE="$evil/trace" NVIDIA_CTK_DEBUG=true)

# The mark shows that the library would act, in a program with a loader.
env "${hostile[@]}" /bin/true || true
[ -e "$work/mark" ] || fail "the evil library does nothing: the test shows nothing"
rm "$work/mark"

cd "$work/bundle/rootfs"
status=0
strace -f -e trace=file,close_range,chdir -o "$work/calls" "${hostile[@]/#/-E}" "$PARTITA_BIN/partita-hook" create-symlinks --link a::/usr/lib/b <"$work/state" 7<"$work/state" 2>"$work/err" || status=$?
[ "$status" = 0 ] || fail "the hook failed: $status"
[ "$(readlink usr/lib/b)" = a ] || fail "no link was made"
[ ! -e "$work/mark" ] || fail "the image's library ran"
! grep -F "$work/evil" "$work/calls" || fail "it looked at what the environment named"
! grep -E '/(locale|gconv|nsswitch|ld\.so|passwd|zoneinfo)|\.so' "$work/calls" || fail "it looked at libraries or locales"
grep -q 'close_range(3, ' "$work/calls" || fail "it kept what it inherited"
grep -q 'chdir("/")' "$work/calls" || fail "it stayed in the image's directory"
