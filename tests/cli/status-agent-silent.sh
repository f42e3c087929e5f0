#!/usr/bin/env bash
# Whatever is at the agent's socket, status shows the node: in silence where nobody listens, with a warning
# where somebody does and does not answer, and without asking where options name the driver.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
mkdir -p "$PARTITA_RUN_DIR"
run 0 on_node partita status -o json
silent err
library=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["driver"]["libraryPath"])' <"$work/out")

# A socket that a dead agent left.
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$PARTITA_RUN_DIR/agent.sock"
run 0 on_node partita status
silent err
shows "8 GPUs" "NVIDIA A100-SXM4-40GB"
rm "$PARTITA_RUN_DIR/agent.sock"

exec 3< <(exec python3 -c '
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
kept = []
while True:
    kept.append(listener.accept())
    print("asked", flush=True)
' "$PARTITA_RUN_DIR/agent.sock")
on_exit+=("kill $!")
read -r -u 3 line
[ "$line" = listening ] || fail "nobody listens"

run 0 on_node partita status
complains "partita: warning: the agent does not answer" "looked without the agent"
shows "8 GPUs" "NVIDIA A100-SXM4-40GB"
read -r -u 3 line
[ "$line" = asked ] || fail "the agent was not asked: $line"

run 0 on_node partita status --library "$library"
silent err
shows "8 GPUs"
! read -r -t 0 -u 3 || fail "the agent was asked of a library that the user named"
