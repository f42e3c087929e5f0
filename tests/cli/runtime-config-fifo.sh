#!/usr/bin/env bash
# A config.toml that is no regular file is never waited for: create is refused, every other command reaches runc.
# /dev/null is an empty one.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
rm "$NVIDIA_CTK_CONFIG_FILE_PATH"
mkfifo "$NVIDIA_CTK_CONFIG_FILE_PATH"
bundle NVIDIA_VISIBLE_DEVICES=void
# The limit is there so that a program that waits is seen to.
run 0 timeout 50 nvidia-container-runtime delete box
forwarded
silent err
rm -f "$record"
run 1 timeout 50 nvidia-container-runtime create --bundle "$work/bundle" box
complains "error loading config: $NVIDIA_CTK_CONFIG_FILE_PATH is no regular file"
refused
NVIDIA_CTK_CONFIG_FILE_PATH=/dev/null run 0 create
forwarded
