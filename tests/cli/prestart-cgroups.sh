#!/usr/bin/env bash
# The container's cgroup lets it open the devices that it was given, and no others: those are EPERM, a device that is
# allowed gets as far as the driver, which is none here (ENXIO).
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
cgroup=/sys/fs/cgroup/devices/partita-cli-$$
if ! mkdir "$cgroup" 2>/dev/null; then
  echo "SKIPPED: no devices of cgroup v1 here"
  exit 77
fi
on_exit+=("rmdir $cgroup")
up dgx-a100-40
echo a >"$cgroup/devices.deny"
echo "c 1:3 rwm" >"$cgroup/devices.allow"
: >"$work/config.toml"
container NVIDIA_VISIBLE_DEVICES=2
cat >"$work/there" <<'SCRIPT'
exec nsenter --target "$pid" --mount bash -c '
  mknod "$rootfs/dev/nvidia3" c 195 3
  echo $$ >"$cgroup/cgroup.procs"
  for node in "$rootfs"/dev/nvidia{ctl,2,3}; do echo "${node##*/} $( { : <>"$node"; } 2>&1 | sed "s/.*: //")"; done'
SCRIPT
cat >"$work/hook" <<'SCRIPT'
echo "$pid" >"$cgroup/cgroup.procs"
exec -a nvidia-container-runtime-hook "$PARTITA_BIN/partita-hook" -config "$work/config.toml" prestart <"$work/state"
SCRIPT
export cgroup
run 0 prestart_then 'bash "$work/there"'
diff - "$work/out" <<'END' || fail "other rules"
nvidiactl No such device or address
nvidia2 No such device or address
nvidia3 Operation not permitted
END
