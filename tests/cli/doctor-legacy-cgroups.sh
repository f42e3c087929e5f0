#!/usr/bin/env bash
# Where systemd keeps the cgroups, a container that got its GPUs from the hook of mode "legacy" loses them.
source "$(dirname "$0")/doctor_common.sh"

install -m 0755 /bin/true "$bin/dockerd"
install -m 0755 /bin/true "$host/usr/bin/nvidia-container-runtime"
mkdir -p "$host/etc/docker" "$host/etc/nvidia-container-runtime"
echo '{"exec-opts": ["native.cgroupdriver=systemd"], "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}' \
  >"$host/etc/docker/daemon.json"
run 0 doctor
if grep -q "systemd's cgroups" "$work/out"; then fail "nobody adds devices behind docker's back"; fi

printf '[nvidia-container-runtime]\nmode = "legacy"\n' >"$host/etc/nvidia-container-runtime/config.toml"
run 0 doctor
shows "warning  docker keeps containers in systemd's cgroups: a container of the runtime nvidia loses its GPUs" \
  "$ nvidia-ctk config --in-place --set nvidia-container-runtime.mode=auto"

# The host's own systemd and cgroups, where docker is told nothing.
rm "$host/etc/nvidia-container-runtime/config.toml"
echo '{}' >"$host/etc/docker/daemon.json"
install -m 0755 /bin/true "$host/usr/bin/nvidia-container-runtime-hook"
mkdir -p "$host/run/systemd/system" "$host/sys/fs/cgroup"
run 0 doctor
if grep -q "systemd's cgroups" "$work/out"; then fail "cgroups of version 1 are docker's own"; fi
touch "$host/sys/fs/cgroup/cgroup.controllers"
run 0 doctor
shows "a container with --gpus, but not one with --device nvidia.com/gpu=all, loses its GPUs"
