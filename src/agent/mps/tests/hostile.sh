#!/usr/bin/env bash
# What lies in a pipe directory is not trusted, and a daemon that does not answer is replaced, not doubled.
source "$(dirname "$0")/common.sh"
one="domain one ${gpu[0]} 20480 50"
owner agent
tell agent "$one" go
until_shown agent "one ready"

# Links: a daemon writes through them, and root's files are not a container's to write.
echo untouched >"$work/victim"
daemon=$(daemon_of one)
kill -STOP "$agent_pid"
kill -KILL "$daemon"
# Its parent does not take notice of it now.
has_ended() { grep -q '^State:.Z' "/proc/$daemon/status"; }
until_true has_ended
for name in control_lock nvidia-cuda-mps-control.pid log; do
  ln -sf "$work/victim" "$root/one/pipe/$name"
done
kill -CONT "$agent_pid"
again() { [ -f "$root/one/pipe/nvidia-cuda-mps-control.pid" ] && [ "$(daemon_of one)" != untouched ] && shows_now agent "one ready"; }
until_true again
is "$(cat "$work/victim")" untouched
[ ! -L "$root/one/pipe/nvidia-cuda-mps-control.pid" ] || fail "the daemon's pid file is a link"

# Clients that come as soon as somebody listens: none of them has a server without limits.
hammer() { while :; do CUDA_MPS_PIPE_DIRECTORY=$root/one/pipe on_node "$client" context >/dev/null 2>&1; done; }
for _ in 1 2 3; do hammer & hammers+=($!); done
end_hammers() {
  kill -KILL "${hammers[@]}" 2>/dev/null || true
  wait "${hammers[@]}" 2>/dev/null || true
}
on_exit=(end_hammers "${on_exit[@]}")
for _ in 1 2 3; do
  daemon=$(daemon_of one)
  kill -KILL "$daemon"
  other() { [ "$(daemon_of one 2>/dev/null)" != "$daemon" ] && shows_now agent "one ready"; }
  until_true other
  served() { server=$(ask one get_server_list) && [ -n "$server" ]; }
  until_true served
  is "$(ask one "get_active_thread_percentage $server")" 50.0
  is "$(ask one "get_device_pinned_mem_limit $server 0")" 20G
done
end_hammers

# A daemon that is deaf while the owner changes.
daemon=$(daemon_of one)
kill -KILL "$agent_pid"
wait "$agent_pid" || true
rm "$root/one/pipe/control"
owner next
tell next "$one" go
until_shown next "one ready"
until_true gone "$daemon"
[ "$(daemon_of one)" != "$daemon" ] || fail "a daemon without a socket was taken for a good one"
