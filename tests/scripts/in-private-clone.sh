#!/usr/bin/env bash
# A clone of what is committed, in a folder that others cannot enter; the command's status is its own, and
# nothing stays behind.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-scripts.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset PARTITA_CLONE_IN
fail() { echo "FAILED: $*" >&2; exit 1; }

# A repository of its own: this one may be an export without history.
mkdir -p "$work/repository/scripts"
cp "$root/scripts/in-private-clone" "$work/repository/scripts/"
cd "$work/repository"
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t
git init -q .
echo committed >file
git add . && git commit -qm "a commit"
echo changed >file

export TMPDIR=$work/tmp
mkdir "$TMPDIR"
status=0
scripts/in-private-clone sh -c 'cat file; pwd; stat -c %a ..; exit 7' >"$work/out" || status=$?
[ "$status" = 7 ] || fail "status $status"
grep -q "a commit in $TMPDIR/partita-clone" "$work/out" || fail "it does not say where: $(cat "$work/out")"
grep -qx committed "$work/out" || fail "it is not what is committed: $(cat "$work/out")"
grep -qx 700 "$work/out" || fail "others may enter: $(cat "$work/out")"
[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"

# Below the folder that it is told, which it does not tell the command.
mkdir "$work/home"
PARTITA_CLONE_IN=$work/home scripts/in-private-clone sh -c 'pwd; echo "told: $PARTITA_CLONE_IN"' >"$work/out"
grep -qx 'told: ' "$work/out" || fail "the command is told where clones are: $(cat "$work/out")"
grep -q "^$work/home/partita-clone" "$work/out" || fail "it is not below the home: $(cat "$work/out")"
