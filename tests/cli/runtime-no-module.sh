#!/usr/bin/env bash
# Before a driver is loaded containers start all the same, without GPUs; a note says so.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
[ ! -e /proc/driver/nvidia ] || { echo "SKIPPED: a driver is loaded here"; exit 77; }
bundle NVIDIA_VISIBLE_DEVICES=all
run 0 create
forwarded
untouched
complains "nvidia-container-runtime: warning: no NVIDIA driver is loaded: $work/bin/runc is called directly"
