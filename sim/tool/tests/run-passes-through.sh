#!/usr/bin/env bash
# `run` becomes the command: pid, arguments, input, signals and exit status pass through.
source "$(dirname "$0")/common.sh"

run 0 partita-sim up h200-vm --node vm
run 0 partita-sim run -- printf '%s\n' "a b" "" --help -- '*'
printf '%s\n' "a b" "" --help -- '*' | cmp - "$work/out" || fail "the arguments changed"
run 42 partita-sim run -- sh -c 'exit 42'
run 143 partita-sim run -- sh -c 'kill -TERM $$'
[ "$(echo through | partita-sim run -- cat)" = through ] || fail "standard input is lost"
run 127 partita-sim run -- no-such-program
complains "run no-such-program: No such file or directory"
run 126 partita-sim run -- /etc/passwd

mkfifo "$work/pid"
partita-sim run -- sh -c 'echo $$ >"$0"; exec sleep 1000' "$work/pid" &
kill_at_exit $!
seen=$(cat "$work/pid")
[ "$seen" -eq $! ] || fail "the command is process $seen, not $!"
kill -TERM "$seen"
status=0
wait "$seen" || status=$?
[ "$status" -eq 143 ] || fail "SIGTERM gave the status $status"

# Without the rights: said so, in words.
run 1 setpriv --bounding-set=-sys_admin --inh-caps=-all partita-sim run -- true
complains "make a mount namespace" "CAP_SYS_ADMIN"
chmod 755 "$work"
run 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$PARTITA_BIN/partita-sim" run -- true
complains "run this as root"
