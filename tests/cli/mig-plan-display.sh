#!/usr/bin/env bash
# nvidia_drm with mode setting is no process, and makes resets fail: it is named before anything changes.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
# with_drm Y|N COMMAND…: a machine on which that module is loaded so.
with_drm() {
  on_node sh -ec '
    mkdir -p /sys/module/nvidia_drm/parameters
    echo "$1" >/sys/module/nvidia_drm/parameters/modeset
    shift
    exec "$@"' sh "$@"
}
run 0 with_drm Y partita mig plan --gpu 0 --want 7g.40gb
shows "reset the GPU"
complains "warning: nvidia_drm is loaded with mode setting" "modprobe -r nvidia_drm" "--skip-reset"
run 0 with_drm N partita mig plan --gpu 0 --want 7g.40gb
silent err
run 0 on_node partita mig plan --gpu 0 --want 7g.40gb
silent err
# Nothing to reset, nothing to say.
run 0 with_drm Y partita mig plan --gpu 0 --want off
silent err
