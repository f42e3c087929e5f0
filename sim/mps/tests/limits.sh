#!/usr/bin/env bash
# A client's memory and multiprocessors are the smaller of the server's share and its own wish. Figures and codes were
# seen on an H200 with driver 580.
source "$(dirname "$0")/common.sh"
up h200-vm
start_daemon
answers $'40.0' 'set_default_active_thread_percentage 40'
answers '' 'set_default_device_pinned_mem_limit 0 2G'

device() { lines devices | sed -n 's/.* \([0-9]*\) multiprocessors.*/\1/p'; }
is "$(lines context room alloc 1G room alloc 1G)" \
  "init: 0 no error|context: 0 no error|room: 1830 of 143155 MiB|alloc 1G: 0 no error|room: 806 of 143155 MiB|alloc 1G: 2 out of memory"
is "$(device)" 52
variables=(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G)
is "$(device)" 32
is "$(lines context room)" "init: 0 no error|context: 0 no error|room: 880 of 143155 MiB" # 879 there
# Neither can be raised; what is no number lifts the memory limit, and the share stays.
variables=(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4G)
is "$(device)" 52
is "$(lines context alloc 3G)" "init: 0 no error|context: 0 no error|alloc 3G: 2 out of memory"
variables=(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=0 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=x)
is "$(device)" 52
is "$(lines context alloc 3G)" "init: 0 no error|context: 0 no error|alloc 3G: 0 no error"
variables=()

# A running server's limits hold for the clients that come; by UUID and by ordinal they are one.
server=$(ask get_server_list)
uuid=$(smi --query-gpu=uuid --format=csv,noheader)
answers 30.0 "set_active_thread_percentage $server 30"
answers 30.0 "set_active_thread_percentage $server 130"
answers '' "set_device_pinned_mem_limit $server 0 1G"
answers 1G "get_device_pinned_mem_limit $server $uuid"
answers '' "get_device_pinned_mem_limit $server 7"
is "$(lines devices | sed -n 's/.* \([0-9]*\) multiprocessors.*/\1/p')" 38
# 40 is still what the next server gets.
answers 40.0 get_default_active_thread_percentage

# The daemon keeps the keys apart, and what is no size takes a limit away.
answers 2G 'get_default_device_pinned_mem_limit 0'
answers '' "get_default_device_pinned_mem_limit $uuid"
answers '' "set_default_device_pinned_mem_limit $uuid 1500M"
answers 1G "get_default_device_pinned_mem_limit $uuid"
answers '' 'set_default_device_pinned_mem_limit 0 many'
answers '' 'get_default_device_pinned_mem_limit 0'
answers 1G "get_default_device_pinned_mem_limit $uuid"
# A value that is missing changes nothing.
answers '' "set_default_device_pinned_mem_limit $uuid"
answers 1G "get_default_device_pinned_mem_limit $uuid"
answers '' "set_device_pinned_mem_limit $server 0"
answers 1G "get_device_pinned_mem_limit $server 0"
answers 30.0 "set_active_thread_percentage $server"
# Nobody is there to be listed; and who names no server.
answers '' ps
answers '' get_device_client_list
answers '' "get_device_client_list $server"
for command in 'get_device_client_list 7' 'get_client_list 7' 'get_active_thread_percentage 7' \
  'set_active_thread_percentage 7 30' 'get_device_pinned_mem_limit 7 0' 'set_device_pinned_mem_limit 7 0 1G' \
  'get_server_status 7' 'shutdown_server 7'; do
  answers 'Server 7 not found' "$command"
done
answers $'Server 7 not found\nServer 7 not found!\n1' 'terminate_client 7 8'
answers $'Server 7 not found\nServer 7 not found' 'ps -p 7'
answers 'A server PID is required' get_server_status
answers 'A user id (UID) is required to start a new server' 'start_server -uid x'
# Several commands of one process.
answers $'Unknown command "nonsense"\n40.0\nUnknown command ""' 'nonsense 1' get_default_active_thread_percentage ''

# The daemon's own variables (docs/hardware/h200/mps-facts.txt): the percentage is the default, the limit of memory is none.
answers '' 'quit -t 0'
start_daemon CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M
answers 25.0 get_default_active_thread_percentage
answers '' 'get_default_device_pinned_mem_limit 0'
is "$(device)" 32
is "$(lines context alloc 8G)" "init: 0 no error|context: 0 no error|alloc 8G: 0 no error"
variables=(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=9000M)
is "$(device)" 32
is "$(lines context alloc 8G alloc 1G)" \
  "init: 0 no error|context: 0 no error|alloc 8G: 0 no error|alloc 1G: 2 out of memory"
variables=()
# Later commands are for the next server.
answers 50.0 'set_default_active_thread_percentage 50'
answers '' 'set_default_device_pinned_mem_limit 0 8192M'
is "$(device)" 32
is "$(lines context alloc 9G)" "init: 0 no error|context: 0 no error|alloc 9G: 0 no error"
