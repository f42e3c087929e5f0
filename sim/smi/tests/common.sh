# Sourced by every script here: a simulated node of its own, and nvidia-smi in it.
set -euo pipefail

: "${PARTITA_BIN:?the directory of the built programs}"
if [ "$(id -u)" -ne 0 ]; then
  echo "SKIPPED: a simulated node needs device nodes and mounts; run this as root" >&2
  exit 77
fi
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
captures=$source_root/data/captures/h200
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-smi.XXXXXX")
export LC_ALL=C.UTF-8 TZ=UTC PARTITA_SIM_DIR=$work/nodes
mkdir "$PARTITA_SIM_DIR"
background=()
finish() {
  for pid in "${background[@]}"; do kill "$pid" 2>/dev/null || true; done
  "$PARTITA_BIN/partita-sim" down --node node >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

sim() { "$PARTITA_BIN/partita-sim" "$@"; }

# up PROFILE: the node, with its clock stopped so that readings stand still.
up() {
  sim up "$1" --node node >/dev/null
  sim clock freeze --node node >/dev/null
}

# What differs from one look to the next: the date, temperatures and watts.
mask() {
  sed -E -e 's/^[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4}( *)$/DATE\1/' \
    -e 's/[ 0-9]{3}C( +P[0-9]+) +[0-9]+W \//  TC\1  W \//' \
    -e 's/, [0-9]+, [0-9]+\.[0-9]{2} W,/, T, P W,/'
}

# check STATUS ARGUMENTS… <<TEXT: the whole output and the exit status of nvidia-smi.
check() {
  local wanted=$1 status=0
  shift
  sim run --node node -- nvidia-smi "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  mask <"$work/out" >"$work/got"
  mask >"$work/wanted"
  if ! diff -u "$work/wanted" "$work/got"; then
    echo "FAILED: nvidia-smi $*: other output than expected" >&2
    exit 1
  fi
  if [ "$status" -ne "$wanted" ] || [ -s "$work/err" ]; then
    echo "FAILED: nvidia-smi $*: exit status $status, not $wanted; $(cat "$work/err")" >&2
    exit 1
  fi
}
