# Sourced by every script here: nodes, and clients that wait for a word.
source "$(dirname "${BASH_SOURCE[0]}")/../../tool/tests/common.sh"
client=$PARTITA_BIN/partita-sim-cuda-client
unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
unset CUDA_MPS_PINNED_DEVICE_MEM_LIMIT CUDA_MPS_ACTIVE_THREAD_PERCENTAGE

smi() { on_node nvidia-smi "$@"; }

# said NAME TEXT: the client called NAME has printed this line.
said() { grep -qxF -- "$2" "$work/$1.out"; }

# start NAME STEP…: a client on the node, in the background, whose last step waits for `finish NAME`.
# It is there when it has said its last line before that.
start() {
  local name=$1
  shift
  mkfifo "$work/$name.in"
  "$PARTITA_BIN/partita-sim" run --node "$node" -- "$client" "$@" >"$work/$name.out" <"$work/$name.in" &
  printf -v "${name}_pid" %s $!
  kill_at_exit $!
  exec {descriptor}>"$work/$name.in"
  printf -v "${name}_fd" %s "$descriptor"
}

# finish NAME: lets it go on, and waits for its end.
finish() {
  local fd=${1}_fd pid=${1}_pid
  echo >&"${!fd}" # not its end alone: clients that came later have this pipe too
  eval "exec ${!fd}>&-"
  wait "${!pid}" || fail "client $1 ended with $?"
  rm "$work/$1.in"
}

# steps EXPECTED… (from standard input): what the client prints for the steps.
steps() {
  run 0 on_node "$client" "$@"
  diff -u - "$work/out" >&2 || fail "steps: $*"
}
