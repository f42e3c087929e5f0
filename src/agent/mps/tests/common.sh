# Sourced by every script here: a node with GPUs, an owner of MPS domains on it, and CUDA clients.
source "$(dirname "${BASH_SOURCE[0]}")/../../../../sim/cuda/tests/common.sh"
root=$work/mps
up hgx-h200
chmod 755 "$work"
mapfile -t gpu < <(smi --query-gpu=uuid --format=csv,noheader)
is() { [ "$1" = "$2" ] || fail "\"$1\", not \"$2\""; }

# owner NAME: starts one; `tell NAME LINE…` is what it is told, `shown NAME` what it said last.
owner() {
  mkfifo "$work/$1.in"
  partita-sim run --node "$node" -- "$PARTITA_BIN/partita_mps_owner" /usr/bin/nvidia-cuda-mps-control "$root" \
    <"$work/$1.in" >"$work/$1.out" 2>"$work/$1.err" &
  printf -v "${1}_pid" %s $!
  owners+=($!)
  exec {descriptor}>"$work/$1.in"
  printf -v "${1}_fd" %s "$descriptor"
}
tell() {
  local fd=${1}_fd
  shift
  printf '%s\n' "$@" >&"${!fd}"
}
shown() { tail -n 1 "$work/$1.out"; }
shows_now() { [ "$(shown "$1")" = "$2" ]; } # NAME TEXT
until_shown() { until_true shows_now "$@"; }
log_of() { cat "$work/$1.err" >&2; }

# ask DOMAIN COMMAND: the daemon's answer.
ask() { echo "$2" | CUDA_MPS_PIPE_DIRECTORY=$root/$1/pipe on_node nvidia-cuda-mps-control; }
daemon_of() { cat "$root/$1/pipe/nvidia-cuda-mps-control.pid"; }
gone() { ! kill -0 "$1" 2>/dev/null; }
# start_in DOMAIN NAME STEP…: a client of that domain, as `start`.
start_in() {
  export CUDA_MPS_PIPE_DIRECTORY=$root/$1/pipe
  shift
  start "$@"
  unset CUDA_MPS_PIPE_DIRECTORY
}
# lines_in DOMAIN STEP…: what a client of that domain prints, on one line.
lines_in() {
  local domain=$1
  shift
  CUDA_MPS_PIPE_DIRECTORY=$root/$domain/pipe on_node "$client" "$@" >"$work/out"
  paste -sd'|' "$work/out"
}
# What a script must not leave behind: first owners, which would start daemons again, then daemons,
# also one that has not told its pid yet.
owners=()
end_daemons() {
  local pid
  for pid in "${owners[@]}"; do
    kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
  done
  for pid in $(grep -lsz "^CUDA_MPS_PIPE_DIRECTORY=$root/" /proc/[0-9]*/environ | cut -d/ -f3); do
    kill -KILL "$pid" 2>/dev/null
  done
  return 0
}
on_exit=(end_daemons "${on_exit[@]}")
