# Sourced by scripts in which an agent shares GPUs by MPS, after device_plugin_common.sh and `up`.
chmod 755 "$work"
root=$work/mps
agent_on=(partita-sim run --node "$node" --)

# First agents, which would start daemons again.
end_daemons() {
  for name in "${!agent[@]}"; do kill -9 "${agent[$name]}" 2>/dev/null; done
  for pid in $(grep -lsz "^CUDA_MPS_PIPE_DIRECTORY=$root/" /proc/[0-9]*/environ | cut -d/ -f3); do
    kill -9 "$pid" 2>/dev/null
  done
  return 0
}
daemons_gone() {
  local file
  for file in "$root"/*/pipe/nvidia-cuda-mps-control.pid; do
    ! kill -0 "$(cat "$file")" 2>/dev/null || return 1
  done
}
on_exit=(end_daemons "${on_exit[@]}")
modes() { on_node nvidia-smi --query-gpu=compute_mode --format=csv,noheader | head -n 2 | paste -sd' '; }
of_another_boot() { "$source_root/tests/support/modes_of_boot.py" "$1" another; }
modes_are() { [ "$(modes)" = "$1" ]; }
client() { on_node env CUDA_MPS_PIPE_DIRECTORY="$pipe" "$PARTITA_BIN/partita-sim-cuda-client" "$@" | paste -sd'|'; }
is() { [ "$1" = "$2" ] || fail "\"$1\", not \"$2\""; }
