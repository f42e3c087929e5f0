#!/usr/bin/env bash
# What the real MPS does in cases that decide how containers get to its pipe directory: limits in a daemon's environment,
# a directory that clients cannot write, links that lie where the daemon makes its files. For a machine with one idle GPU;
# nothing but daemons of its own is started, nothing of the card is changed. Usage: mps_facts.sh
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
chmod 755 "$work"
uuid=$(nvidia-smi --query-gpu=uuid --format=csv,noheader | head -n 1)
client() { timeout 60 python3 "$here/mps_on_gpu.py" --client </dev/null 2>&1 | head -n 1; }
ask() { echo "$1" | nvidia-cuda-mps-control; echo "[exit $?]"; }
start() { # VARIABLE=VALUE…: a daemon in a directory of its own
  export CUDA_MPS_PIPE_DIRECTORY=$work/pipe CUDA_MPS_LOG_DIRECTORY=$work/log
  env "$@" CUDA_VISIBLE_DEVICES="$uuid" nvidia-cuda-mps-control -f >>"$work/daemon" 2>&1 &
  daemon=$!
  for _ in $(seq 50); do
    echo get_server_list | nvidia-cuda-mps-control >/dev/null 2>&1 && return
    kill -0 "$daemon" 2>/dev/null || break
    read -rt 0.1 <> <(:)
  done
  echo "the daemon does not answer; it said:"; tail -n 3 "$work/daemon"
}
stop() { # one whose log is no FIFO does not quit
  echo quit -t 2 | timeout 10 nvidia-cuda-mps-control >/dev/null 2>&1
  kill -9 "$daemon" 2>/dev/null
  wait "$daemon" 2>/dev/null
  rm -rf "$work/pipe" "$work/log"
  mkdir -p "$work/pipe" "$work/log"
}
mkdir -p "$work/pipe" "$work/log"

echo "== multiprocessors, free and total MiB, codes of 1 GiB less than free and 1025 MiB more; no daemon"
unset CUDA_MPS_PIPE_DIRECTORY; CUDA_MPS_PIPE_DIRECTORY=/nonexistent client

echo "== limits in the daemon's environment"
start CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M
ask get_default_active_thread_percentage
ask "get_default_device_pinned_mem_limit 0"
echo "client: $(client)"
echo "client that asks for more: $(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=9000M client)"
ask "set_default_active_thread_percentage 50"
ask "set_default_device_pinned_mem_limit 0 8192M"
echo "client of the server that was there: $(client)"
stop

echo "== what variables of a client do to limits that were set by command, of the daemon and of the server that it has"
start X=1
ask "set_default_device_pinned_mem_limit 0 8192M"
ask "set_default_active_thread_percentage 25"
echo "client: $(client)"
for limit in 0=x 0=0 0= x "$uuid=x" 0=64G "0=x,0=4G" 0=4G,0=x; do
  echo "client with $limit: $(CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=$limit client)"
done
for percentage in x 0 100 -5; do echo "client with $percentage %: $(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$percentage client)"; done
server=$(echo get_server_list | nvidia-cuda-mps-control)
ask "set_device_pinned_mem_limit $server 0 4096M"
ask "get_device_pinned_mem_limit $server 0"
echo "client of the limited server: $(client)"
echo "client of it with 0=x: $(CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=x client)"
stop

echo "== a server that is stopped (SIGSTOP)"
start X=1
client >/dev/null
server=$(echo get_server_list | nvidia-cuda-mps-control)
kill -STOP "$server"
for command in get_server_list "get_client_list $server" "get_server_status $server" get_default_active_thread_percentage; do
  begun=$(date +%s)
  echo "$command: $(echo "$command" | timeout 40 nvidia-cuda-mps-control 2>&1; echo "[exit $?]")" | tr '\n' ' '
  echo "after $((($(date +%s) - begun) / 5 * 5)) s or a little more"
done
echo "client meanwhile: $(client)"
kill -CONT "$server"
echo "client afterwards: $(client)"
stop

echo "== a pipe directory that clients cannot write: read-only bind mount, a client as root and as nobody"
start X=1
export here work
export -f client
unshare -m bash -c 'mount --bind "$work/pipe" "$work/pipe" && mount -o remount,bind,ro "$work/pipe" &&
  (touch "$work/pipe/new" 2>&1; echo "root: $(client)"; ls "$work/pipe"
   echo "nobody: $(setpriv --reuid 65534 --regid 65534 --clear-groups bash -c client)")'
ask get_server_list
ls -la "$work/pipe"
stop

echo "== links where the daemon makes its files"
echo untouched >"$work/victim"; chmod 600 "$work/victim"
for name in control_lock nvidia-cuda-mps-control.pid log; do
  ln -s "$work/victim" "$work/pipe/$name"
  start X=1
  echo "$name: $(stat -c %F "$work/pipe/$name"); its target has now: $(head -c 9 "$work/victim" | tr -c '[:print:]' ?)"
  stop
  echo untouched >"$work/victim"; chmod 600 "$work/victim"
done
rm -rf "$work"
