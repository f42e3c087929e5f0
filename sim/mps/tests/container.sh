#!/usr/bin/env bash
# Clients in another PID namespace, on a MIG device, and more of them than it takes.
source "$(dirname "$0")/common.sh"
need_own_mounts
up h200-vm
run 0 smi -mig 1
run 0 smi mig -cgi 19:0,9:4 -C
slice=$(smi -L | sed -n 's/.*1g.18gb.*UUID: \(MIG-[^)]*\)).*/\1/p')
start_daemon CUDA_VISIBLE_DEVICES="$slice"
answers '' 'set_default_device_pinned_mem_limit 0 2G'

mkfifo "$work/in"
partita-sim run --node "$node" -- unshare -pf --kill-child --mount-proc "$client" devices context alloc 1G wait kernel \
  >"$work/inner.out" <"$work/in" &
outer=$!
kill_at_exit "$outer"
exec 9>"$work/in"
until_true said inner "alloc 1G: 0 no error"
said inner "device 0: NVIDIA H200 MIG 1g.18gb, ${slice#MIG-}, 9.0, 16 multiprocessors, 16384 MiB" || fail "another device"
inner=$(child_of "$outer")
answers "$inner" "get_client_list $(ask get_server_list)"
run 0 smi
# The table's rows of the slice: GPU 0, instance 11.
shows "$(printf '|    0   11    0 %16s' "$inner")    M+C   "
ask ps >"$work/out"
shows "$inner" "$(readlink "/proc/$inner/ns/pid" | tr -dc 0-9)" "${slice:0:22}"
is "$(lines context alloc 2G)" "init: 0 no error|context: 0 no error|alloc 2G: 2 out of memory"

# A seventh of 48 clients.
for name in a b c d e; do
  start "$name" context wait
  until_true said "$name" "context: 0 no error"
done
is "$(lines context)" "init: 0 no error|context: 808 the hardware resources required to create MPS client have been exhausted"
for name in a b c d e; do finish "$name"; done
is "$(lines context)" "init: 0 no error|context: 0 no error"

# A fault that nobody's kernel made: partita-sim can ask for one.
run 0 partita-sim fault mps "$CUDA_MPS_PIPE_DIRECTORY" --client "$inner"
answers FAULT "get_server_status $(ask get_server_list)"
echo >&9
wait "$outer" || fail "the client ended with $?"
said inner "kernel: 700 an illegal memory access was encountered" || fail "the client went on"
is "$(lines context kernel)" "init: 0 no error|context: 0 no error|kernel: 700 an illegal memory access was encountered"
# No client, no server: nothing to break.
run 2 partita-sim fault mps "$work/none"
complains "no MPS control daemon at $work/none"
