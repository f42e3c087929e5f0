#!/usr/bin/env bash
# Whoever reads the output may go, and a hangup that was ignored stays so: the change is finished.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
up dgx-a100-40
on_node nvidia-smi -i 7 -mig 1 >/dev/null
on_node nvidia-smi -r -i 7 >/dev/null
run 0 on_node partita mig apply --yes --gpu 7 --want 1g.5gb:3

# The reader ends with the first step; every later line meets a pipe that nobody reads.
mkfifo "$work/pipe"
on_node partita mig apply --yes --gpu 7 --want 7g.40gb >"$work/out" 2>"$work/pipe" &
change=$!
grep -m1 "destroy" "$work/pipe" >/dev/null || fail "nothing was destroyed"
wait "$change" || [ $? -eq 1 ] || fail "it was ended by a signal"
run 0 on_node partita mig assert --gpu 7 --want 7g.40gb

# As under nohup. The signal comes while the change runs: at its first step.
mkfifo "$work/steps"
(
  trap '' HUP
  exec partita-sim run --node "$node" -- partita mig apply --yes --gpu 7 --want 1g.5gb:2
) >"$work/out" 2>"$work/steps" &
change=$!
exec {steps}<"$work/steps"
read -r first <&"$steps"
kill -HUP "$change"
cat <&"$steps" >"$work/err"
wait "$change" || fail "exit status $? after $first"
run 0 on_node partita mig assert --gpu 7 --want 1g.5gb:2
