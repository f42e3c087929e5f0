#!/bin/sh
# check-library.sh LIBRARY EXPORTS SONAME: what a program may expect of a driver's library.
# Tool images are small and old: libc alone, and no symbol newer than GLIBC_2.17.
set -eu
library=$1
exports=$2
wanted_soname=$3
fail() {
  echo "$library: $1" >&2
  exit 1
}

dynamic=$(LC_ALL=C readelf --dynamic --wide "$library")
soname=$(echo "$dynamic" | sed -n 's/.*Library soname: \[\(.*\)\]/\1/p')
[ "$soname" = "$wanted_soname" ] || fail "SONAME is \"$soname\", not $wanted_soname"
needed=$(echo "$dynamic" | sed -n 's/.*Shared library: \[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || fail "needs $(echo $needed), not libc.so.6 alone"
echo "$dynamic" | grep -q NODELETE || fail "not linked with -z nodelete"

newest=$(LC_ALL=C readelf --version-info --wide "$library" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
highest=$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -1)
[ "$highest" = GLIBC_2.17 ] || fail "needs $newest; replace the symbols that nm -D shows with it"

wanted=$(mktemp)
found=$(mktemp)
trap 'rm -f "$wanted" "$found"' EXIT
sort "$exports" >"$wanted"
LC_ALL=C nm --dynamic --defined-only "$library" | awk '{print $3}' | sort >"$found"
diff "$wanted" "$found" >&2 || fail "exports differ from $exports (< missing, > too many)"
