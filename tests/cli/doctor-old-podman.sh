#!/usr/bin/env bash
# podman before 5 reads CDI up to 0.6.0; engines are asked for their version on this machine itself.
source "$(dirname "$0")/doctor_common.sh"

mkdir "$work/bin" "$work/hooks"
printf '#!/bin/sh\necho podman version 4.9.4\n' >"$work/bin/podman"
chmod +x "$work/bin/podman"
write_spec 195 0.7.0
sed -i 's|/usr/local/bin/partita-hook|/bin/true|' "$host/etc/cdi/nvidia.yaml"
on_machine() { on_node env PATH="$work/bin:$PATH" partita doctor --spec-dir "$host/etc/cdi" --hooks-dir "$work/hooks"; }
run 1 on_machine
shows "BAD      podman 4.9.4 reads CDI up to 0.6.0, and $host/etc/cdi/nvidia.yaml has 0.7.0" \
  "$ partita cdi generate --cdi-version-max 0.6.0 $host/etc/cdi/nvidia.yaml"
write_spec 195 0.6.0
sed -i 's|/usr/local/bin/partita-hook|/bin/true|' "$host/etc/cdi/nvidia.yaml"
run 0 on_machine
shows "ok       podman 4.9.4 takes CDI devices"
