#!/usr/bin/env bash
# CDI files that name what is no longer there, cannot be read, or that nobody reads.
source "$(dirname "$0")/doctor_common.sh"

write_spec 511
run 1 doctor
shows "BAD      $host/etc/cdi/nvidia.yaml names what this host has not: /dev/nvidia0 (195:0, not 511:0)" \
  "$ partita cdi generate $host/etc/cdi/nvidia.yaml"
write_spec
echo "cdiVersion: [" >"$host/etc/cdi/broken.yaml"
cp "$host/etc/cdi/nvidia.yaml" "$host/etc/cdi/gpu.yml"
chmod 0777 "$host/etc/cdi"
run 1 doctor
shows "BAD      others than root may write in /etc/cdi" "$ chown root:root /etc/cdi && chmod go-w /etc/cdi" \
  "BAD      $host/etc/cdi/broken.yaml" "nobody reads /etc/cdi/gpu.yml" "$ mv -n /etc/cdi/gpu.yml /etc/cdi/gpu.yaml"
