#!/usr/bin/env bash
# A domain that is ready has its limits in force: read back from the daemon, and felt by a client.
source "$(dirname "$0")/common.sh"
owner agent
tell agent "domain one ${gpu[0]} 2048 50" "domain two ${gpu[1]} 700 10" go
until_shown agent "one ready, two ready"

is "$(ask one get_default_active_thread_percentage)" 50.0
is "$(ask one 'get_default_device_pinned_mem_limit 0')" 2G
is "$(ask two 'get_default_device_pinned_mem_limit 0')" 700M
is "$(lines_in one devices | grep -c "${gpu[0]#GPU-}")" 1
is "$(lines_in two devices | grep -c "${gpu[1]#GPU-}")" 1
is "$(lines_in one context alloc 1G alloc 1G)" \
  "init: 0 no error|context: 0 no error|alloc 1G: 0 no error|alloc 1G: 2 out of memory"
is "$(lines_in two context alloc 690M)" "init: 0 no error|context: 0 no error|alloc 690M: 2 out of memory"

# The daemon is on its own: a session, an environment, no descriptor of its owner's but the log.
daemon=$(daemon_of one)
is "$(ps -o sid= -p "$daemon" | tr -d ' ')" "$daemon"
is "$(tr '\0' '\n' <"/proc/$daemon/environ" | sort | paste -sd' ')" \
  "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_MPS_LOG_DIRECTORY=$root/one/log CUDA_MPS_PIPE_DIRECTORY=$root/one/pipe CUDA_VISIBLE_DEVICES=${gpu[0]} PATH=/usr/bin:/usr/bin:/bin"
is "$(readlink "/proc/$daemon/fd/0" "/proc/$daemon/fd/1" "/proc/$daemon/fd/2" | paste -sd' ')" \
  "/dev/null $root/one/log/control.log $root/one/log/control.log"
is "$(stat -c %a "$root/one" "$root/one/pipe" "$root/one/log" | paste -sd' ')" "755 755 755"

# A domain that cannot be started says why, and does not keep others from it.
tell agent "domain one ${gpu[0]} 2048 50" "domain wrong ${gpu[2]} 2048 0" go
until_true grep -q 'wrong waiting (the MPS control daemon answers\|wrong waiting (after "set_default_active_thread_percentage 0"' "$work/agent.out"
is "$(daemon_of one)" "$daemon"
