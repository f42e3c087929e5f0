#!/usr/bin/env bash
# An image cannot have more of /proc/driver/nvidia shown, nor the view mounted elsewhere: what was injected is known by
# device numbers in the container's own /dev, and only a procfs at /proc is covered. Where that cannot be, the
# container does not start.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
up dgx-a100-40
on_node nvidia-smi -i 6 -mig 1 >/dev/null
on_node nvidia-smi -r -i 6 >/dev/null
on_node nvidia-smi mig -i 6 -cgi 9 -C >/dev/null
major=$(on_node awk '$2 == "nvidia-caps" { print $1 }' /proc/devices)
config=$(on_node sed -n 's/DeviceFileMinor: //p' /proc/driver/nvidia/capabilities/mig/config)

# The container of $mounts, and $hook for it; then what it sees of the driver.
cat >"$work/inside" <<'SCRIPT'
set -euo pipefail
mount --bind "$rootfs" "$rootfs"
eval "$mounts"
mount --make-rprivate "$rootfs"
table() { grep -c "" /proc/self/mountinfo; }
before=$(table)
status=0
(exec -a nvidia-cdi-hook "$PARTITA_BIN/partita-hook" "$hook") <"$work/state" || status=$?
if [ "$status" -ne 0 ]; then
  [ "$(table)" = "$before" ] || { echo "a mount stayed"; exit 9; }
  exit "$status"
fi
cd "$rootfs/proc/driver/nvidia"
(find gpus capabilities -mindepth 1 -maxdepth 1 2>/dev/null || true) | sort
SCRIPT
export rootfs work PARTITA_BIN mounts hook
# image: one anew, to which a case adds; and what the runtime mounts in it.
image() {
  rm -rf "$rootfs"
  mkdir -p "$rootfs"/{proc,dev/nvidia-caps,nvidia,real}
  echo image >"$rootfs/nvidia/params"
  mounts='mount --rbind /proc "$rootfs/proc"' hook=restrict-proc
}
container() { run "$1" on_node unshare --mount --propagation private bash "$work/inside"; }
shows_nothing() { silent out; }

# Another device by the name of a capability, of a GPU.
image
mknod "$rootfs/dev/nvidia-caps/nvidia-cap$config" c 1 "$config"
mknod "$rootfs/dev/nvidia1" c 1 1
container 0
shows_nothing
# The right numbers, behind links of the image.
for link in dev dev/nvidia-caps; do
  image
  rm -rf "$rootfs/${link:?}"
  mkdir -p "$rootfs/real/nvidia-caps"
  for top in real real/nvidia-caps; do
    mknod "$rootfs/$top/nvidia1" c 195 1
    mknod "$rootfs/$top/nvidia-cap$config" c "$major" "$config"
  done
  ln -s /real "$rootfs/$link"
  container 0
  shows_nothing
done
# A device is what its number says.
image
mknod "$rootfs/dev/gpu" c 195 1
mknod "$rootfs/dev/nvidia-caps/any" c "$major" "$config"
container 0
[ "$(grep -c ^gpus/ "$work/out")" = 1 ] && shows capabilities/mig || fail "not what was injected"

# A path that leads elsewhere in the image.
image
ln -s / "$rootfs/proc/driver"
for hook in restrict-proc disable-device-node-modification; do
  refusal="/proc in $rootfs is not the kernel's"
  mounts=true
  container 1
  complains "nvidia-cdi-hook: error: $hook: $refusal"
  # A file system that somebody else made.
  mounts='mount -t tmpfs none "$rootfs/proc" && mkdir -p "$rootfs/proc/driver/nvidia" && cp /proc/driver/nvidia/params "$rootfs/proc/driver/nvidia"'
  container 1
  complains "$refusal"
done
image
rmdir "$rootfs/proc"
ln -s real "$rootfs/proc"
mounts='mount --rbind /proc "$rootfs/real"'
for hook in restrict-proc disable-device-node-modification; do
  container 1
  complains "/proc in $rootfs is a link"
done
# Nothing at all to be restricted, on a machine with a driver: something may come there later.
rm "$rootfs/proc"
mounts=true
for hook in restrict-proc disable-device-node-modification; do
  container 1
  complains "/proc in $rootfs: No such file or directory"
done

# Short of descriptors, a hook protects or fails.
cat >"$work/inside" <<'SCRIPT'
set -euo pipefail
protected() { grep -qx "ModifyDeviceFiles: 0" "$rootfs/proc/driver/nvidia/params" && [ "$1" != restrict-proc -o -z "$(ls "$rootfs/proc/driver/nvidia/gpus")" ]; }
export -f protected
for hook in restrict-proc disable-device-node-modification; do
  reached=no
  for limit in {4..24}; do
    said=$(unshare --mount --propagation private bash -c '
      mount --bind "$rootfs" "$rootfs" && mount --rbind /proc "$rootfs/proc"
      if (ulimit -n "$0" && exec -a nvidia-cdi-hook "$PARTITA_BIN/partita-hook" "$1") <"$work/state" 2>"$work/said"; then
        protected "$1" && echo done || echo "not protected"
      else
        [ -s "$work/said" ] && echo failed || echo "failed in silence"
      fi' "$limit" "$hook")
    [ "$said" != done ] || reached=yes
    case $said in done | failed) ;; *) echo "$hook with $limit descriptors: $said"; exit 1 ;; esac
  done
  [ $reached = yes ] || { echo "$hook needs more descriptors than anybody has"; exit 1; }
done
SCRIPT
image
container 0
