#!/usr/bin/env bash
# NVIDIA's editor reads /proc/modules; where the kernel has none, `run` says what to do about it. Our own
# editor under that name needs none.
source "$(dirname "$0")/common.sh"

run 0 partita-sim run --help
shows "nvidia-mig-parted"
run 0 partita-sim up h200-vm
mkdir "$work/nvidia" "$work/ours"
printf '#!/bin/sh\necho ran "$@"\n' >"$work/nvidia/nvidia-mig-parted"
chmod +x "$work/nvidia/nvidia-mig-parted"
ln -s "$(command -v partita)" "$work/ours/nvidia-mig-parted"

run 0 partita-sim run -- "$work/nvidia/nvidia-mig-parted" export
shows "ran export"
if [ -e /proc/modules ]; then
  silent err
else
  complains "nvidia-mig-parted reads /proc/modules" "partita-sim run --proc-modules -- "
  run 0 env PATH="$work/nvidia:$PATH" partita-sim run -- nvidia-mig-parted export
  complains "nvidia-mig-parted reads /proc/modules"
fi
run 0 partita-sim run --proc-modules -- "$work/nvidia/nvidia-mig-parted" export
silent err
run 0 partita-sim run -- "$work/ours/nvidia-mig-parted" export
silent err
run 0 env PATH="$work/ours:$PATH" partita-sim run -- nvidia-mig-parted export
silent err
