#!/usr/bin/env bash
# Where another program holds apt's or dpkg's lock, as unattended upgrades do on a fresh machine, setup waits
# and says for whom. The locks are of a package system in a folder of this test.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-scripts.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

# All that group "format" needs is installed according to apt, and nothing according to dpkg-query: setup
# asks apt, which changes nothing.
mkdir -p "$work"/{lists/partial,archives/partial,dpkg/updates,dpkg/info,empty}
for package in clang-format; do
  printf 'Package: %s\nStatus: install ok installed\nVersion: 1\nArchitecture: all\nMaintainer: t\nDescription: t\n\n' "$package"
done >"$work/dpkg/status"
touch "$work/sources.list"
cat >"$work/apt.conf" <<CONF
Dir::State "$work";
Dir::State::lists "$work/lists";
Dir::State::status "$work/dpkg/status";
Dir::Cache "$work";
Dir::Cache::archives "$work/archives";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
CONF
export APT_CONFIG=$work/apt.conf DPKG_ADMINDIR=$work/empty
"$root/scripts/setup" format >"$work/out" 2>&1 || fail "without a lock: $(cat "$work/out")"

mkfifo "$work/says" "$work/holds" "$work/release"
for lock in lists/lock dpkg/lock-frontend; do
  # Holds the lock until something can be read from the pipe.
  python3 -c '
import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
open(sys.argv[2]).read()
' "$work/$lock" "$work/release" >"$work/holds" &
  holder=$!
  read -r line <"$work/holds"
  [ "$line" = held ] || fail "the lock cannot be held"
  "$root/scripts/setup" format >"$work/says" 2>&1 &
  setup=$!
  exec {says}<"$work/says"
  waits=
  while [ -z "$waits" ] && read -r line <&"$says"; do
    case $line in *"$work/$lock"*"process $holder (python3)"*wait*) waits=yes ;; esac
  done
  [ -n "$waits" ] || { echo >"$work/release"; fail "$lock: it did not wait; it said $line"; }
  echo >"$work/release"
  wait "$setup" || fail "$lock: it failed after it had waited: $(cat <&"$says")"
  exec {says}<&-
  wait "$holder"
done
