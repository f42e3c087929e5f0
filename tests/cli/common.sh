# Sourced by every script here. A script tests one behaviour of the built program, in a directory of
# its own, beside others that run at the same time.
set -euo pipefail

: "${PARTITA_BIN:?the directory of the built programs}"
PATH=$PARTITA_BIN:$PATH
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-cli.XXXXXX")
export LC_ALL=C.UTF-8 TERM=xterm-256color PARTITA_SIM_DIR=$work/nodes
export PARTITA_STATE_DIR=$work/state PARTITA_RUN_DIR=$work/run PARTITA_CDI_DIR=$work/cdi
unset NO_COLOR PARTITA_OUTPUT PARTITA_COLOR PARTITA_DRIVER_ROOT PARTITA_LIBRARY PARTITA_HOST_ROOT
# Whoever runs the tests may be in a cluster.
unset KUBECONFIG KUBERNETES_SERVICE_HOST
mkdir "$PARTITA_SIM_DIR"
on_exit=()
trap 'for step in "${on_exit[@]}"; do eval "$step" || true; done; rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  for file in "$work"/out "$work"/err; do
    if [ -s "$file" ]; then
      echo "--- $(basename "$file")" >&2
      cat -v "$file" >&2
    fi
  done
  exit 1
}

# run STATUS COMMAND…: output goes to $work/out and $work/err.
run() {
  local wanted=$1 status=0
  shift
  "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  [ "$status" -eq "$wanted" ] || fail "exit status $status, not $wanted: $*"
}

# shows TEXT…: every text is somewhere in the output.
shows() {
  for text in "$@"; do grep -qF -- "$text" "$work/out" || fail "output lacks: $text"; done
}

# complains TEXT…: every text is somewhere on standard error.
complains() {
  for text in "$@"; do grep -qF -- "$text" "$work/err" || fail "error lacks: $text"; done
}

# silent out|err
silent() {
  [ ! -s "$work/$1" ] || fail "$1 is not empty"
}

# until_true COMMAND…: polls it, at most a minute. No fixed waiting: it goes on at once when true.
until_true() {
  local deadline=$((SECONDS + 60))
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "never became true: $*"
    (read -rt 0.02 <> <(:)) || true # in a shell of its own: whoever waits goes on to use $!
  done
}

# by_schema NAME FILE…: the documents are as apis/NAME.schema.json says.
by_schema() {
  python3 -B "$source_root/tests/cli/check_mig_documents.py" "$@" || fail "not what the schema $1 says"
}

# up PROFILE [NODE]: a simulated node that goes with the script; `on_node COMMAND…` runs on it.
up() {
  node=${2:-$1}
  partita-sim up "$1" --node "$node" >"$work/up" 2>&1 || { cat "$work/up" >&2; fail "cannot simulate $1"; }
  on_exit+=("partita-sim down --node $node --force >/dev/null 2>&1")
}
on_node() { partita-sim run --node "$node" -- "$@"; }
