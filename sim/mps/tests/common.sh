# Sourced by every script here: nodes, CUDA clients, and a control daemon of the script's own.
source "$(dirname "${BASH_SOURCE[0]}")/../../cuda/tests/common.sh"
export CUDA_MPS_PIPE_DIRECTORY=$work/pipe CUDA_MPS_LOG_DIRECTORY=$work/log

# ask COMMAND…: what the daemon answers to these commands, given one after the other.
ask() { printf '%s\n' "$@" | on_node nvidia-cuda-mps-control; }
answers() { # TEXT COMMAND…
  local wanted=$1
  shift
  [ "$(ask "$@")" = "$wanted" ] || fail "\"$*\" is answered \"$(ask "$@")\", not \"$wanted\""
}
server_is() { [ "$(ask get_server_list)" = "$1" ]; }
is() { [ "$1" = "$2" ] || fail "\"$1\", not \"$2\""; }

# start_daemon [VARIABLE=VALUE…]: in the background, on directories of the script's own.
start_daemon() {
  mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
  run 0 on_node env "$@" nvidia-cuda-mps-control -d
  silent out
  # Before the node goes, which it is started through.
  on_exit=('echo quit -t 0 | on_node nvidia-cuda-mps-control >/dev/null 2>&1' "${on_exit[@]}")
}

# lines STEP…: what a client prints, on one line.
lines() {
  run 0 on_node env "${variables[@]}" "$client" "$@"
  paste -sd'|' "$work/out"
}
variables=()
