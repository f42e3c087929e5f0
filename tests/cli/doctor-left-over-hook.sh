#!/usr/bin/env bash
# podman's hook file beside CDI files: devices would be injected twice.
source "$(dirname "$0")/doctor_common.sh"

hooks=$host/usr/share/containers/oci/hooks.d
mkdir -p "$hooks"
cp "$source_root/tests/data/engine-config/podman-ctk.json" "$hooks/oci-nvidia-hook.json"
printf '{"hook": {"path": "/usr/bin/other"}}' >"$hooks/other.json"
install -m 0755 /bin/true "$host/usr/bin/nvidia-container-runtime-hook"
run 0 doctor
shows "warning  /usr/share/containers/oci/hooks.d/oci-nvidia-hook.json injects devices into every container" \
  "$ rm /usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"
install -m 0755 /bin/true "$bin/podman"
run 1 doctor
shows "BAD      /usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"
rm "$host/etc/cdi/nvidia.yaml"
run 0 doctor
if grep -q hooks.d "$work/out"; then fail "a hook file alone is nothing wrong"; fi
