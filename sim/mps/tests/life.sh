#!/usr/bin/env bash
# A daemon in the background, its servers and their ends: what stays, what is replaced, who has to wait.
source "$(dirname "$0")/common.sh"
up h200-vm
chmod 755 "$work"

# Exclusive: the server is the one process, and its clients come in beside it.
run 0 smi -c EXCLUSIVE_PROCESS
start_daemon
is "$(ls "$CUDA_MPS_LOG_DIRECTORY" | paste -sd' ')" "control.log server.log"
is "$(stat -c '%a %n' "$CUDA_MPS_PIPE_DIRECTORY"/* | sed "s|$CUDA_MPS_PIPE_DIRECTORY/||" | paste -sd' ')" \
  "666 control 666 control_lock 755 control_privileged 777 log 666 nvidia-cuda-mps-control.pid"
start one context alloc 1G wait sync
until_true said one "alloc 1G: 0 no error"
start two context wait kernel
until_true said two "context: 0 no error"
server=$(ask get_server_list)
run 0 smi
shows "$one_pid    M+C   " "$server      C   nvidia-cuda-mps-server" "$two_pid    M+C   "
[ "$(grep -c "$one_pid" "$work/out")" = 1 ] || fail "the client is listed twice"
answers "$one_pid"$'\n'"$two_pid" "get_client_list $server"
# Without MPS nobody comes in.
is "$(CUDA_MPS_PIPE_DIRECTORY=$work/none lines context)" \
  "init: 0 no error|context: 46 CUDA-capable device(s) is/are busy or unavailable"

# One that is stopped: nobody is answered who asks for more than its name (docs/hardware/h200/mps-facts.txt), and what was
# asked meanwhile is answered when it goes on. No answer means as long as the agent waits for one, nearly.
kill -STOP "$server"
answers "$server" get_server_list
ask "get_client_list $server" >"$work/asked" 2>&1 &
asked_pid=$!
unanswered() { ! timeout 12 bash -c "echo get_default_active_thread_percentage | partita-sim run --node $node -- nvidia-cuda-mps-control"; }
until_true unanswered
kill -CONT "$server"
wait "$asked_pid" || fail "it was not answered"
is "$(cat "$work/asked")" "$one_pid"$'\n'"$two_pid"
answers 100.0 get_default_active_thread_percentage

# With clients a server does not end, unless it must.
answers '' "shutdown_server $server"
answers ACTIVE "get_server_status $server"
grep -q "Server $server has 4 active worker threads. Server will not shutdown." "$CUDA_MPS_LOG_DIRECTORY/control.log" ||
  fail "the log does not tell of the clients"
answers $'Invalid process 99999!\n1' "terminate_client $server 99999"
answers 0 "terminate_client $server $one_pid"
finish one
said one "sync: 810 the MPS client has been terminated by the server" || fail "client one was not terminated"
answers '' "shutdown_server $server -f"
finish two
said two "kernel: 806 the remote procedural call between the MPS server and the MPS client failed" ||
  fail "client two outlived its server"
until_true server_is ""

# A killed server is replaced for the next client.
start three context wait kernel
until_true said three "context: 0 no error"
server=$(ask get_server_list)
kill -KILL "$server"
until_true server_is ""
finish three
said three "kernel: 806 the remote procedural call between the MPS server and the MPS client failed" ||
  fail "client three outlived its server"
is "$(lines context kernel)" "init: 0 no error|context: 0 no error|kernel: 0 no error"
[ "$(ask get_server_list)" != "$server" ] || fail "no new server"

# Another user asks, changes nothing, and waits for a server of its own until this one is idle.
as_nobody() { on_node setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
server=$(ask get_server_list)
is "$(echo get_server_list | as_nobody nvidia-cuda-mps-control)" "$server"
is "$(echo set_default_active_thread_percentage 20 | as_nobody nvidia-cuda-mps-control)" \
  "Insufficient privileges for UID 65534. Control deamon settings can only be modified by the user who started it or by the root user."
is "$(echo quit | as_nobody nvidia-cuda-mps-control)" "Not enough privilege to execute quit command"
start four context wait sync
until_true said four "context: 0 no error"
server=$(ask get_server_list)
as_nobody "$client" context >"$work/nobody" &
nobody_pid=$!
waits() { grep -q "from user 65534: Server is not ready, push client to pending list" "$CUDA_MPS_LOG_DIRECTORY/control.log"; }
until_true waits
server_is "$server" || fail "the server of a client was replaced"
finish four
wait "$nobody_pid" || fail "the other user's client failed"
is "$(paste -sd'|' "$work/nobody")" "init: 0 no error|context: 0 no error"
grep -q "Starting new server $(ask get_server_list) for user 65534" "$CUDA_MPS_LOG_DIRECTORY/control.log" ||
  fail "no server for the other user"

# The end: it waits for clients, and takes no other meanwhile.
start five context wait sync
until_true said five "context: 0 no error"
mkfifo "$work/ui.in"
"$PARTITA_BIN/partita-sim" run --node "$node" -- nvidia-cuda-mps-control <"$work/ui.in" >"$work/ui.out" 2>"$work/ui.err" &
ui_pid=$!
kill_at_exit "$ui_pid"
exec 8>"$work/ui.in"
echo get_default_active_thread_percentage >&8
until_true said ui 100.0
echo quit | on_node nvidia-cuda-mps-control &
quit_pid=$!
quitting() { ! ask get_server_list 2>/dev/null; }
until_true quitting
run 1 bash -c "echo get_server_list | partita-sim run --node $node -- nvidia-cuda-mps-control"
complains "Cannot send command to MPS control daemon process"
is "$(lines context)" "init: 805 MPS client failed to connect to the MPS control daemon or the MPS server|context: 3 initialization error"
# Nor are those heard who were there before.
echo get_server_list >&8
status=0
wait "$ui_pid" || status=$?
is "$status $(cat "$work/ui.err")" "1 Cannot send command to MPS control daemon process"
finish five
said five "sync: 0 no error" || fail "client five was disturbed"
wait "$quit_pid" || fail "quit ended with $?"
is "$(ls "$CUDA_MPS_PIPE_DIRECTORY" | paste -sd' ')" "control control_lock control_privileged"
run 1 bash -c "echo get_server_list | partita-sim run --node $node -- nvidia-cuda-mps-control"
complains "Cannot find MPS control daemon process"

# Sockets without a daemon, or out of reach: programs run alone.
is "$(lines context room)" "init: 0 no error|context: 0 no error|room: 142629 of 143155 MiB"

# A directory of somebody else's, and one that is out of reach, as on an H200 (docs/hardware/h200/mps-directories.txt).
run 1 as_nobody nvidia-cuda-mps-control -f
shows "Warning: Failed writing log files to directory [$CUDA_MPS_LOG_DIRECTORY]. No logs will be available." \
  "Cannot access CUDA_MPS_PIPE_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY"
mkdir -m 700 "$work/closed"
export CUDA_MPS_PIPE_DIRECTORY=$work/closed/pipe CUDA_MPS_LOG_DIRECTORY=$work/closed/log
start_daemon
is "$(as_nobody "$client" context room | paste -sd'|')" "init: 0 no error|context: 0 no error|room: 142629 of 143155 MiB"
answers '' get_server_list
run 1 bash -c "echo get_server_list |
  partita-sim run --node $node -- setpriv --reuid 65534 --regid 65534 --clear-groups nvidia-cuda-mps-control"
complains "Cannot find MPS control daemon process"
