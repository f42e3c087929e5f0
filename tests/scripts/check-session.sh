#!/usr/bin/env bash
# The session of a document is held against what its commands print: names and ages of pods may differ, numbers of GPUs
# may not.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-session
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-session.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  cat "$work/out" "$work/err" >&2
  exit 1
}

# The pods are as written from the second look on.
cat >"$work/kubectl" <<'SH'
#!/bin/sh
[ "$2" = pods ] || { printf 'NODE   GPUS\ndgx    8\n'; exit; }
[ -e "$0.asked" ] || { : >"$0.asked"; exit; }
printf 'NAME                READY   RESTARTS   AGE\npartita-dgx-x2z8k   1/1     0          1m4s\n'
SH
chmod +x "$work/kubectl"
# document GPUS
document() {
  cat <<TEXT
\`\`\`
\$ rm -rf /
[c] ~ # kubectl get pods
NAME                READY   RESTARTS   AGE
partita-dgx-dgmfr   1/1     0          5s
[c] ~ # kubectl get nodes
NODE    GPUS
dgx     $1
[c] ~ # exit
\`\`\`
TEXT
}
# checked STATUS
checked() {
  local status=0
  PATH=$work:$PATH "$check" "$work/document" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" -eq "$1" ] || fail "exit status $status, not $1"
}

document 8 >"$work/document"
checked 0
grep -qx 'as written: kubectl get nodes' "$work/out" || fail "not every command"
# What does not only look is not asked again.
document 7 | sed 's/kubectl get nodes/: ; kubectl get nodes/' >"$work/document"
checked 1
grep -q 'and not' "$work/err" || fail "what differs is not told"
echo 'no session' >"$work/document"
checked 1
