#!/usr/bin/env bash
# NVIDIA_REQUIRE_*: an image that needs another driver is refused, unless that is switched off.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
up h200-vm

container NVIDIA_VISIBLE_DEVICES=0 NVIDIA_REQUIRE_CUDA="cuda>=99.0 brand=tesla,driver>=9999"
run 1 prestart
complains "unsatisfied condition: cuda>=99.0"
container NVIDIA_VISIBLE_DEVICES=0 NVIDIA_REQUIRE_CUDA=cuda
run 1 prestart
complains "nvidia-container-runtime-hook: error: "
[ ! -e "$rootfs/usr/bin/nvidia-smi" ] || fail "it was begun"
container NVIDIA_VISIBLE_DEVICES=0 NVIDIA_REQUIRE_CUDA="cuda>=99.0" NVIDIA_DISABLE_REQUIRE=true
run 0 prestart
container NVIDIA_VISIBLE_DEVICES=0 NVIDIA_REQUIRE_CUDA="cuda>=12.0" NVIDIA_REQUIRE_X="wind>3"
run 0 prestart
complains wind
# An image from before the variable.
container CUDA_VERSION=99.1.2
run 1 prestart
complains "unsatisfied condition: cuda>=99.1"
