#!/usr/bin/env bash
# CUDA_VISIBLE_DEVICES, what the process may open, compute modes and MIG decide what there is to use.
source "$(dirname "$0")/common.sh"
up h200-vm

# with WORD=VALUE… -- STEP…: the client's lines, on one.
with() {
  local variables=()
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  shift
  run 0 on_node env "${variables[@]}" "$client" "$@"
  paste -sd'|' "$work/out"
}
is() { [ "$1" = "$2" ] || fail "\"$1\", not \"$2\""; }

is "$(with CUDA_VISIBLE_DEVICES=0,5 -- context)" "init: 0 no error|context: 0 no error"
is "$(with CUDA_VISIBLE_DEVICES=0,0 --)" "init: 101 invalid device ordinal"
is "$(with CUDA_VISIBLE_DEVICES= --)" "init: 100 no CUDA-capable device is detected"
is "$(with CUDA_VISIBLE_DEVICES=GPU-d64bec6d -- context)" "init: 0 no error|context: 0 no error"

# The node of the GPU is masked, as a container without it has it.
is "$(run 0 on_node unshare -m sh -c "mount --bind /dev/null /dev/nvidia0 && exec '$client'"; cat "$work/out")" \
  "init: 100 no CUDA-capable device is detected"
is "$(run 0 on_node unshare -m sh -c "mount --bind /dev/null /dev/nvidia-uvm && exec '$client'"; cat "$work/out")" \
  "init: 999 unknown error"

# One process and no other; then none.
run 0 smi -c EXCLUSIVE_PROCESS
start first context wait
until_true said first "context: 0 no error"
is "$(with -- context)" "init: 0 no error|context: 46 CUDA-capable device(s) is/are busy or unavailable"
finish first
is "$(with -- context)" "init: 0 no error|context: 0 no error"
run 0 smi -c PROHIBITED
is "$(with -- context)" "init: 0 no error|context: 46 CUDA-capable device(s) is/are busy or unavailable"
run 0 smi -c DEFAULT

# With MIG the slices alone can be used, one at a time.
run 0 smi -mig 1
is "$(with --)" "init: 100 no CUDA-capable device is detected"
run 0 smi mig -cgi 19:0,9:4 -C
big=$(smi -L | sed -n 's/.*3g.71gb.*UUID: \(MIG-[^)]*\)).*/\1/p')
small=$(smi -L | sed -n 's/.*1g.18gb.*UUID: \(MIG-[^)]*\)).*/\1/p')
is "$(with CUDA_VISIBLE_DEVICES="$small" -- devices context alloc 15G alloc 1G)" \
  "init: 0 no error|device 0: NVIDIA H200 MIG 1g.18gb, ${small#MIG-}, 9.0, 16 multiprocessors, 16384 MiB|context: 0 no error|alloc 15G: 0 no error|alloc 1G: 2 out of memory"
is "$(with CUDA_VISIBLE_DEVICES="$small,$big" -- devices | cut -d, -f1)" "init: 0 no error|device 0: NVIDIA H200 MIG 1g.18gb"
is "$(with -- devices | cut -d, -f1)" "init: 0 no error|device 0: NVIDIA H200 MIG 3g.71gb"
CUDA_VISIBLE_DEVICES=$big start slice context alloc 1G wait
until_true said slice "alloc 1G: 0 no error"
run 0 smi
shows "|    0    1    0 $(printf %16s "$slice_pid")      C   "
finish slice
