#!/usr/bin/env bash
# A flag beats a variable: --want holds where MIG_PARTED_CONFIG_FILE is set, as it is in the shells of
# those who use the reference. Two flags exclude each other.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run MIG_PARTED_CONFIG_FILE=$work/none.yaml MIG_PARTED_SELECTED_CONFIG=none

up h200-vm
run 0 on_node partita mig apply --want 1g.18gb:7
run 0 on_node partita mig assert --want 1g.18gb:7
run 0 on_node partita mig plan --want 1g.18gb:7
run 2 on_node partita mig plan --want 1g.18gb:7 --config-file "$work/none.yaml"
complains "--config-file and --want exclude each other"
# Without a flag the variable counts.
run 1 on_node partita mig plan
complains "none.yaml"
