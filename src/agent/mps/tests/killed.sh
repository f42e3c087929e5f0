#!/usr/bin/env bash
# kill -9 of a daemon, a server, a client, and a client's fault: what died is back, and clients of
# other domains notice nothing.
source "$(dirname "$0")/common.sh"
owner agent
tell agent "domain one ${gpu[0]} 20480 50" "domain two ${gpu[1]} 20480 50" go
until_shown agent "one ready, two ready"
start_in two bystander context alloc 1G wait sync kernel
until_true said bystander "alloc 1G: 0 no error"

# A client: nothing else ends.
start_in one victim context wait sync
until_true said victim "context: 0 no error"
kill -KILL "$victim_pid"
wait "$victim_pid" || true
is "$(lines_in one context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"

# A server: the daemon gives the next client another.
server=$(ask one get_server_list)
kill -KILL "$server"
until_true gone "$server"
is "$(lines_in one context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
[ "$(ask one get_server_list)" != "$server" ] || fail "no new server"
shows_now agent "one ready, two ready" || fail "$(shown agent)"

# A fault: its server is replaced, and meanwhile the domain is not ready.
start_in one other context wait kernel
until_true said other "context: 0 no error"
server=$(ask one get_server_list)
is "$(lines_in one context fault)" "init: 0 no error|context: 0 no error|fault: 700 an illegal memory access was encountered"
replaced() { [ "$(ask one get_server_list)" != "$server" ]; }
until_true replaced
until_true grep -q "one mending (a client's fault has ended the clients of its server), two ready" "$work/agent.out"
until_shown agent "one ready, two ready"
is "$(lines_in one context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
finish other
said other "kernel: 806 the remote procedural call between the MPS server and the MPS client failed" ||
  said other "kernel: 700 an illegal memory access was encountered" || fail "client other did not notice"

# A daemon: another takes its place, with the limits.
daemon=$(daemon_of one)
bystanders=$(daemon_of two)
kill -KILL "$daemon"
again() { [ "$(daemon_of one 2>/dev/null)" != "$daemon" ] && shows_now agent "one ready, two ready"; }
until_true again
grep -q "one waiting (its daemon has ended), two ready" "$work/agent.out" || fail "its death was not shown"
is "$(ask one get_default_active_thread_percentage)" 50.0
is "$(ask one 'get_default_device_pinned_mem_limit 0')" 20G
is "$(lines_in one context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"

# A daemon whose server is stopped, and so does not notice its end: it ends all the same, and gives the GPU to the next.
# (The mode by hand: it is not what this is about.)
run 0 smi -i 0 -c EXCLUSIVE_PROCESS
leave_server() {
  is "$(lines_in one context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
  server=$(ask one get_server_list)
  kill -STOP "$server"
  daemon=$(daemon_of one)
}
leave_server
kill -KILL "$daemon"
until_true again
is "$(lines_in one context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
until_true gone "$server"
# The same while nobody looks, of a domain that the next owner does not want.
leave_server
kill -KILL "$agent_pid"
wait "$agent_pid" || true
kill -KILL "$daemon"
until_true gone "$daemon"
owner next
tell next "domain two ${gpu[1]} 20480 50" go
until_shown next "two ready"
until_true gone "$server"

is "$(daemon_of two)" "$bystanders"
finish bystander
said bystander "sync: 0 no error" || fail "a client of another domain was disturbed"
said bystander "kernel: 0 no error" || fail "a client of another domain was disturbed"
