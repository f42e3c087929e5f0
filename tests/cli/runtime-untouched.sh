#!/usr/bin/env bash
# A container that asks for no GPU, or may not ask as it does, keeps its config.json: not a byte, not its time, not its
# file changes. The agent's word on unprivileged requests is a warning.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
up h200-vm

# kept WORD…: the container of this environment.
kept() {
  bundle "$@"
  touch -d 2001-01-01 "$config"
  local was
  was=$(stat -c %i:%Y "$config")
  run 0 on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/bundle" box
  forwarded
  untouched "$was"
}
kept
silent err
kept NVIDIA_VISIBLE_DEVICES=
kept NVIDIA_VISIBLE_DEVICES=0,void
kept NVIDIA_VISIBLE_DEVICES
kept NVIDIA_REQUIRE_CUDA='cuda>=99' NVIDIA_DRIVER_CAPABILITIES=nonsense NVIDIA_MIG_CONFIG_DEVICES=all
silent err
MORE=',"hooks":{"prestart":[{"path":"/usr/bin/nvidia-container-runtime-hook"}]}' kept
MORE=',"annotations":{"cdi.k8s.io/x":""}' kept

echo 'accept-nvidia-visible-devices-envvar-when-unprivileged = false' >"$NVIDIA_CTK_CONFIG_FILE_PATH"
kept NVIDIA_VISIBLE_DEVICES=all
complains 'nvidia-container-runtime: warning: devices of NVIDIA_VISIBLE_DEVICES are ignored: the container is not privileged'
MORE=',"mounts":[{"destination":"/var/run/nvidia-container-devices/0","source":"/dev/null"}]' kept NVIDIA_VISIBLE_DEVICES=all
echo 'accept-nvidia-visible-devices-as-volume-mounts = true' >>"$NVIDIA_CTK_CONFIG_FILE_PATH"
MORE=',"mounts":[{"destination":"/var/run/nvidia-container-devices/0","source":"/dev/null"}]' bundle NVIDIA_VISIBLE_DEVICES=all
run 0 on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/bundle" box
silent err
has "$nodes" "/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidiactl"
