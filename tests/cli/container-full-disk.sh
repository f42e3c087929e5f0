#!/usr/bin/env bash
# A full or read-only disk where a container is made: a clear error, the container refused, and neither half a file nor
# a changed one is left.
# With mounts of its own: other tests look whether the host has new ones.
if [ -z "${own_mounts:-}" ]; then own_mounts=1 exec unshare --mount "$0"; fi
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
source "$(dirname "$0")/hook_common.sh"
up h200-vm
mkdir "$work/disk"
on_exit+=("umount $work/disk 2>/dev/null")
mounted() { mount -t tmpfs -o "$1" tmpfs "$work/disk"; }
files() { (cd "$work/disk" && find . -printf '%p %y %m %s %l\n' | sort); }
# nothing_made STATUS TEXT COMMAND…
nothing_made() {
  local before
  before=$(files)
  run "$1" "${@:3}"
  complains "$2"
  [ "$before" = "$(files)" ] || { diff <(echo "$before") <(files) >&2 || true; fail "something was left: ${*:3}"; }
}

# The bundle: runc does not even see it.
mounted size=16k
bundle NVIDIA_VISIBLE_DEVICES=0
cp "$config" "$work/disk/"
fill() { head -c 1000000 /dev/zero >"$work/disk/filler" 2>/dev/null || true; }
fill
create() { on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/disk" box; }
nothing_made 1 "No space left on device" create
[ ! -e "$record" ] || fail "runc was called"
mount -o remount,ro "$work/disk"
nothing_made 1 "Read-only file system" create
[ ! -e "$record" ] || fail "runc was called"
umount "$work/disk"

# The image: by hooks, and by the prestart hook. Room for what it has and no more.
on_disk() { unshare --mount --propagation private bash -c 'mount --rbind "$0" "$0" && exec "$1/partita-hook" "${@:3}" <"$2"' "$work/disk" "$PARTITA_BIN" "$work/state" "$@"; }
echo "{\"root\":\"$work/disk\"}" >"$work/state"
mounted size=64k,nr_inodes=64
mkdir -p "$work/disk"/{etc/ld.so.conf.d,etc/nvidia/nvidia-application-profiles-rc.d,usr/lib,usr/local/cuda/compat,dev}
library "$work/libcuda" libcuda.so.1
cp "$work/libcuda" "$work/disk/usr/local/cuda/compat/libcuda.so.999.1"
echo 'include /etc/ld.so.conf.d/*.conf' >"$work/disk/etc/ld.so.conf"
mknod "$work/disk/dev/nvidia0" c 195 0
fill
nothing_made 1 "No space left on device" on_disk update-ldcache --folder /opt/driver
nothing_made 1 "No space left on device" on_disk enable-cuda-compat --host-driver-version=550.1
nothing_made 1 "No space left on device" on_disk update-application-profile
rm "$work/disk/filler"
i=0
while touch "$work/disk/dev/$((++i))" 2>/dev/null; do :; done
nothing_made 1 "No space left on device" on_disk create-symlinks --link a::/usr/lib/b
mount -o remount,ro "$work/disk"
nothing_made 1 "Read-only file system" on_disk create-symlinks --link a::/usr/lib/b
nothing_made 1 "Read-only file system" on_disk update-ldcache --folder /opt/driver
nothing_made 1 "Read-only file system" on_disk chmod --mode 700 --path /dev/nvidia0
umount "$work/disk"
