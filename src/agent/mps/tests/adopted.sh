#!/usr/bin/env bash
# Daemons outlive whoever started them: the next owner knows them again, and their clients go on.
source "$(dirname "$0")/common.sh"
owner first
tell first "domain one ${gpu[0]} 20480 50" "domain two ${gpu[1]} 20480 50" go
until_shown first "one ready, two ready"
start_in one worker context alloc 1G wait sync kernel
until_true said worker "alloc 1G: 0 no error"
one=$(daemon_of one) two=$(daemon_of two)
kill -KILL "$first_pid"
wait "$first_pid" || true

# While nobody looks a client faults in the other, so that its server is spoilt.
lines_in two context fault >/dev/null
server=$(ask two get_server_list)
is "$(ask two "get_server_status $server")" FAULT

owner second
tell second "domain one ${gpu[0]} 20480 50" "domain two ${gpu[1]} 20480 50" go
until_shown second "one ready, two ready"
is "$(daemon_of one) $(daemon_of two)" "$one $two"
is "$(grep -c "MPS domain adopted" "$work/second.err")" 2
mended() { [ "$(ask two get_server_list)" != "$server" ]; }
until_true mended
is "$(lines_in two context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
# It is watched as one of its own.
kill -KILL "$two"
again() { [ "$(daemon_of two 2>/dev/null)" != "$two" ] && shows_now second "one ready, two ready"; }
until_true again
finish worker
said worker "sync: 0 no error" || fail "a client did not outlive the owner of its domain"
said worker "kernel: 0 no error" || fail "a client did not outlive the owner of its domain"

# A daemon that died meanwhile is started; one whose record is gone is replaced, not doubled.
kill -KILL "$second_pid"
wait "$second_pid" || true
one=$(daemon_of one) two=$(daemon_of two)
kill -KILL "$one"
until_true gone "$one"
rm "$root/two/domain.json"*
owner third
tell third "domain one ${gpu[0]} 20480 50" "domain two ${gpu[1]} 20480 50" go
until_shown third "one ready, two ready"
until_true gone "$two"
[ "$(daemon_of one)" != "$one" ] || fail "the dead daemon is there"
[ "$(daemon_of two)" != "$two" ] || fail "a daemon without a record was taken for ours"
