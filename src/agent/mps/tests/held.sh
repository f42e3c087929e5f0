#!/usr/bin/env bash
# Who holds a share keeps its domain, whatever is wanted meanwhile: daemon, limits, clients and compute mode; it ends, or
# gets its new limits, when the last one has gone.
source "$(dirname "$0")/common.sh"
mapfile -t address < <(smi --query-gpu=pci.bus_id --format=csv,noheader)
modes() { smi --query-gpu=compute_mode --format=csv,noheader | head -n 2 | paste -sd' '; }
one="domain one ${gpu[0]} 20480 50 ${address[0]}" two="domain two ${gpu[1]} 20480 50 ${address[1]}"
owner agent
tell agent "$one" "$two" "go exclusive"
until_shown agent "one ready, two ready"
start_in one worker context wait sync kernel
until_true said worker "context: 0 no error"
first=$(daemon_of one)

# Not wanted any more; the other one ends.
tell agent "hold ${gpu[0]}" "go exclusive"
until_shown agent "one ready"
is "$(daemon_of one)" "$first"
is "$(modes)" "Exclusive_Process Default"
is "$(grep -c "kept as it was until the pods" "$work/agent.err")" 1

# Other limits wait; the next owner knows it again, for whom it is not wanted either.
tell agent "domain one ${gpu[0]} 10240 25 ${address[0]}" "$two" "go exclusive"
until_shown agent "one ready, two ready"
is "$(daemon_of one) $(ask one get_default_active_thread_percentage)" "$first 50.0"
kill -KILL "$agent_pid"
wait "$agent_pid" || true
owner next
tell next "hold ${gpu[0]}" "go exclusive"
until_shown next "one ready"
is "$(daemon_of one)" "$first"
is "$(modes)" "Exclusive_Process Default"
finish worker
said worker "kernel: 0 no error" || fail "a client lost its daemon"

# What dies meanwhile comes back as it was, also where nobody looked.
kill -KILL "$first"
again() { [ "$(daemon_of one 2>/dev/null)" != "$first" ] && shows_now next "one ready"; }
until_true again
is "$(ask one get_default_active_thread_percentage)" 50.0
kill -KILL "$next_pid"
wait "$next_pid" || true
second=$(daemon_of one)
kill -KILL "$second"
until_true gone "$second"
owner last
tell last "hold ${gpu[0]}" "domain one ${gpu[0]} 10240 25 ${address[0]}" "go exclusive"
until_shown last "one ready"
is "$(ask one get_default_active_thread_percentage)" 50.0

# The last holder goes.
third=$(daemon_of one)
tell last "free ${gpu[0]}" "domain one ${gpu[0]} 10240 25 ${address[0]}" "go exclusive"
changed() { [ "$(daemon_of one 2>/dev/null)" != "$third" ] && shows_now last "one ready"; }
until_true changed
is "$(ask one get_default_active_thread_percentage)" 25.0
third=$(daemon_of one)
tell last "hold ${gpu[0]}" "go exclusive"
until_true grep -q "kept as it was" "$work/last.err"
tell last "free ${gpu[0]}" "go exclusive"
until_shown last nothing
until_true gone "$third"
is "$(modes)" "Default Default"
