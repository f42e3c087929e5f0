#!/usr/bin/env bash
# SIGTERM ends --watch as it ends any program, after the terminal was given back; Ctrl-C to a stream is
# status 0.
source "$(dirname "$0")/common.sh"

up h200-vm
coproc terminal { script -qefc "echo \$\$; exec partita-sim run --node $node -- partita status --watch" /dev/null; }
script=$terminal_PID
# Bash takes the coprocess's own descriptors away when it ends.
exec {screen}<&"${terminal[0]}"
IFS= read -r pid <&"$screen"
seen=
while [[ $seen != *"q quits"* ]] && IFS= read -r -d s part <&"$screen"; do seen+=${part}s; done
kill -TERM "${pid%$'\r'}"
while IFS= read -r part <&"$screen" || [ -n "$part" ]; do seen+=$part; done 2>/dev/null
status=0
wait "$script" || status=$?
printf '%s' "$seen" >"$work/out"
shows $'\x1b[?25h\x1b[?1049l'
[ "$status" -eq 143 ] || fail "status $status, not 143 (SIGTERM)"

coproc stream { exec partita-sim run --node "$node" -- partita status --watch -o json; }
pid=$stream_PID
IFS= read -r _ <&"${stream[0]}"
kill -INT "$pid"
wait "$pid" || fail "status $? after SIGINT, not 0"
