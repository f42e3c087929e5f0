#!/usr/bin/env bash
# A program that uses libcuda.so.1 is a process of the GPU by itself, with its memory, until it ends.
source "$(dirname "$0")/common.sh"
up h200-vm

steps devices context room alloc 2G room copy free room destroy sync <<'END'
init: 0 no error
device 0: NVIDIA H200, d64bec6d-47c0-9a0b-bb6c-36622f5541d1, 9.0, 132 multiprocessors, 143155 MiB
context: 0 no error
room: 142629 of 143155 MiB
alloc 2G: 0 no error
room: 140581 of 143155 MiB
copy: 0 no error
free: 0 no error
room: 142629 of 143155 MiB
destroy: 0 no error
sync: 201 invalid device context
END

# As data/captures/h200 has it: a context and 1 GiB are 1550 MiB.
start a context alloc 1G wait alloc 512M
until_true said a "alloc 1G: 0 no error"
run 0 smi --query-compute-apps=pid,used_memory --format=csv,noheader
[ "$(cat "$work/out")" = "$a_pid, 1550 MiB" ] || fail "not one process of 1550 MiB"
run 0 smi
shows "$a_pid      C   "
# Killed, it is gone with its memory.
kill -KILL "$a_pid"
wait "$a_pid" || true
run 0 smi --query-compute-apps=pid --format=csv,noheader
silent out
steps context room <<'END'
init: 0 no error
context: 0 no error
room: 142629 of 143155 MiB
END

# More than there is.
steps context alloc 139G alloc 1G alloc 100M <<'END'
init: 0 no error
context: 0 no error
alloc 139G: 0 no error
alloc 1G: 2 out of memory
alloc 100M: 0 no error
END

# An illegal access stays with the context, and is an XID.
steps context kernel fault sync alloc 1G <<'END'
init: 0 no error
context: 0 no error
kernel: 0 no error
fault: 700 an illegal memory access was encountered
sync: 700 an illegal memory access was encountered
alloc 1G: 700 an illegal memory access was encountered
END

# A child of fork may not go on with what its parent has.
steps context fork sync context <<'END'
init: 0 no error
context: 0 no error
sync: 3 initialization error
context: 3 initialization error
END

# No driver, no device.
run 0 partita-sim driver unload --node "$node"
steps context <<'END'
init: 100 no CUDA-capable device is detected
context: 3 initialization error
END
