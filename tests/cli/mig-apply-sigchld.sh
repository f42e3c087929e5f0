#!/usr/bin/env bash
# A parent that ignores SIGCHLD, as some container runtimes and cron jobs do, hands that on: a reset that
# succeeded is a success all the same.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up dgx-a100-40
run 0 on_node env --ignore-signal=CHLD partita mig apply --gpu 0 --want 1g.5gb:7
shows "applied"
run 0 on_node partita mig assert --gpu 0 --want 1g.5gb:7
