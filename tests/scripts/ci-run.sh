#!/usr/bin/env bash
# What guards main, as it runs: each stage has a limit; the first one that fails or outlasts it ends the run and all that
# runs beside; the table of stages is printed either way. `make` is one that records how it was called; `timeout` marks
# what it runs, and shortens the limit of a stage that does not end.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-scripts.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $case: $*" >&2; cat "$work/out" >&2 2>/dev/null; exit 1; }

# A repository of its own: this one may be an export without history.
mkdir -p "$work"/{bin,repository/.ci}
cp "$root/.ci/run" "$work/repository/.ci/"
cat >"$work/bin/timeout" <<'SCRIPT'
#!/bin/bash
arguments=()
for word; do
  case $word in
    *[0-9]m) limit=$word; [ -z "${ENDLESS:-}" ] || [[ " $* " != *" make $ENDLESS "* ]] || word=0.1s ;;
  esac
  arguments+=("$word")
done
LIMIT=$limit exec "$REAL_TIMEOUT" "${arguments[@]}"
SCRIPT
# What CI runs beside others (make programs) is there before its first stage ends, and ends only when it is ended.
cat >"$work/bin/make" <<'SCRIPT'
#!/bin/bash
echo "$* limit=${LIMIT:-none} CI=${CI:-}" >>"$WORK/calls"
case $1 in
  programs) exec 9>"$WORK/beside"; flock 9; echo $$ >"$WORK/began"; [ -n "${ENDS:-}" ] || exec tail -f /dev/null ;;
  check-format) read -r process <"$WORK/began"; echo "$process" >"$WORK/process" ;;
  "${ENDLESS:-}") exec tail -f /dev/null ;;
esac
case " ${RED:-} " in *" $1 "*) exit 7 ;; esac
case " ${RED_ONCE:-} " in *" $1 "*) mkdir "$WORK/red-$1" && exit 7 ;; esac
exit 0
SCRIPT
chmod +x "$work"/bin/*
REAL_TIMEOUT=$(command -v timeout)
export REAL_TIMEOUT WORK=$work PARTITA_CI_PRIVATE=1
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t
cd "$work/repository"
git init -q .
git add . && git commit -qm "a commit"

# run CASE STATUS VARIABLE…: the run ends with that status; `calls` are the stages in their order.
run() {
  local wanted=$2 status=0
  case=$1
  shift 2
  rm -rf "$work"/{calls,began,beside,red-*}
  mkfifo "$work/began"
  env -u CI "$@" PATH="$work/bin:$PATH" .ci/run >"$work/out" 2>&1 || status=$?
  [ "$status" = "$wanted" ] || fail "status $status"
  # Whoever ran beside holds this lock until it ends.
  if ! "$REAL_TIMEOUT" 60 flock "$work/beside" true; then
    kill "$(cat "$work/process")"
    fail "what ran beside is still there"
  fi
  ! grep -v ' limit=[0-9]*m CI=true$' "$work/calls" || fail "without a limit, or not as CI"
  calls=$(grep -v '^programs ' "$work/calls" | cut -d' ' -f1 | tr '\n' ' ')
}
says() { grep -Eqx -- "$1" "$work/out" || fail "not said: $1"; }
row='== +[0-9]+ s +[0-9]+ s of processor  make'

run "a stage is red" 7 RED=asan
[ "$calls" = "check-format tidy test asan " ] || fail "stages: $calls"
for stage in check-format "tidy .*" test "asan  FAILED \(7\)"; do says "$row $stage"; done
says "== +[0-9]+ s  in all, of 2400"
! grep -q 'make tsan' "$work/out" || fail "it went on"

run "a stage does not end" 124 ENDLESS=tsan
[ "$calls" = "check-format tidy test asan tsan " ] || fail "stages: $calls"
says "== ended after its limit of [0-9]+ minutes: make tsan"
says "$row tsan  FAILED \(124\)"

run "red once beside others, and mutants that nobody noticed" 0 ENDS=1 RED_ONCE=rest RED=mutants
says "== UNSTEADY, red and then green: make rest; what it found is above, with its seed"
[ "$(grep -c "^rest " "$work/calls")" = 2 ] || fail "rest did not run twice: $calls"
[ "$(grep -c "^random " "$work/calls")" = 1 ] || fail "random did not run once: $calls"
for stage in check-format tidy test asan tsan soak fuzz deb containers compat e2e; do
  says "$row $stage( .*)?"
done
says "== mutants that no test noticed, or no time for them: see above"

run "red beside others and alone" 7 ENDS=1 RED=rest
says "$row rest REST_SECONDS=[0-9]+  FAILED \(7\)"
case $calls in *compat*) fail "it went on: $calls" ;; esac
