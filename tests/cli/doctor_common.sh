# Sourced by doctor-*.sh: a simulated machine as a host of its own, with a CDI file, a hook and podman.
source "$(dirname "$0")/common.sh"

up h200-vm
host=$PARTITA_SIM_DIR/$node
bin=$host/usr/local/bin
mkdir -p "$host/etc/cdi" "$bin"
install -m 0755 /bin/true "$bin/partita-hook"

# write_spec [MAJOR [VERSION]]: of GPU 0, as the machine has it unless told otherwise.
write_spec() {
  local major=${1:-$((16#$(stat -c %t "$host/dev/nvidia0")))}
  cat >"$host/etc/cdi/nvidia.yaml" <<END
---
cdiVersion: ${2:-0.5.0}
kind: nvidia.com/gpu
devices:
    - name: "0"
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia0
              major: $major
containerEdits:
    env:
        - NVIDIA_VISIBLE_DEVICES=void
    deviceNodes:
        - path: /dev/nvidiactl
    hooks:
        - hookName: createContainer
          path: /usr/local/bin/partita-hook
          args: [nvidia-cdi-hook, update-ldcache]
          env: [NVIDIA_CTK_DEBUG=false]
END
}
write_spec

doctor() { partita doctor --host-root "$host" --driver-root "$host" "$@"; }
