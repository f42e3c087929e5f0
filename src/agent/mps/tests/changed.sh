#!/usr/bin/env bash
# Another limit restarts its own domain alone; a domain that is no longer wanted ends.
source "$(dirname "$0")/common.sh"
owner agent
tell agent "domain one ${gpu[0]} 20480 50" "domain two ${gpu[1]} 20480 50" go
until_shown agent "one ready, two ready"
start_in two worker context wait sync
until_true said worker "context: 0 no error"
one=$(daemon_of one) two=$(daemon_of two)

tell agent "domain one ${gpu[0]} 10240 25" "domain two ${gpu[1]} 20480 50" go
changed() { [ "$(daemon_of one 2>/dev/null)" != "$one" ] && shows_now agent "one ready, two ready"; }
until_true changed
is "$(ask one get_default_active_thread_percentage)" 25.0
is "$(ask one 'get_default_device_pinned_mem_limit 0')" 10G
is "$(daemon_of two)" "$two"
until_true gone "$one"

# A device that goes from one domain to another.
one=$(daemon_of one)
tell agent "domain three ${gpu[0]} 20480 50" "domain two ${gpu[1]} 20480 50" go
until_shown agent "three ready, two ready"
until_true gone "$one"
is "$(daemon_of two)" "$two"
finish worker
said worker "sync: 0 no error" || fail "a client of a domain that did not change was disturbed"

# All of them, also with a client that does not listen; what containers have mounted stays.
start_in two deaf context wait kernel
until_true said deaf "context: 0 no error"
tell agent go
until_shown agent nothing
until_true gone "$two"
[ ! -e "$root/two/domain.json" ] || fail "the record of an ended domain is there"
[ -d "$root/two/pipe" ] || fail "the directory that containers mount is gone"
finish deaf || true
