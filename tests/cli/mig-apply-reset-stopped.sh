#!/usr/bin/env bash
# A stop ends a reset that waits: the tool is ended, and the GPU is put back as it was.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
mkdir "$work/bin"
mkfifo "$work/alive"
# As long as it lives, the pipe stays open.
cat >"$work/bin/nvidia-smi" <<SCRIPT
#!/bin/sh
exec >"$work/alive"
echo begun
exec /bin/sleep 1000
SCRIPT
chmod +x "$work/bin/nvidia-smi"

up dgx-a100-40
partita-sim run --node "$node" -- env PATH="$work/bin:$PATH" partita mig apply --gpu 0 --gpu 1 --want 1g.5gb:7 \
  >"$work/out" 2>"$work/err" &
pid=$!
exec {alive}<"$work/alive"
read -r line <&"$alive"
[ "$line" = begun ] || fail "the tool said $line"
kill -TERM "$pid"
cat <&"$alive" # ends with the tool
status=0
wait "$pid" || status=$?
[ "$status" -eq 3 ] || fail "exit status $status"
shows "was stopped" "stopped before it was done" "GPU 0: put back as it was" "GPU 1: put back as it was"
run 0 on_node partita mig assert --gpu 0 --gpu 1 --want off
