#!/usr/bin/env bash
# `run` works in a chroot whose root is no mount point, as build roots are, and changes nothing there.
source "$(dirname "$0")/common.sh"
mountpoint -q / || { echo "SKIPPED: this is such a chroot already" >&2; exit 77; }

root=$work/root
mkdir -p "$root"/{bin,dev,proc,sys,run,tmp,built/bin,built/lib}
copy() { # copy FILE DIRECTORY: with the libraries that it loads
  cp -L "$1" "$root/$2/"
  { ldd "$1" 2>/dev/null || true; } | { grep -oE '/[^ ]+' || true; } | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -nL "$library" "$root$library"
  done
}
for program in sh ls cat; do copy "$(command -v $program)" bin; done
for program in partita-sim partita-sim-placeholder nvidia-smi-sim nvidia-cuda-mps-control-sim nvidia-cuda-mps-server-sim; do
  copy "$PARTITA_BIN/$program" built/bin
done
for library in libnvidia-ml.so.1 libcuda.so.1; do copy "$PARTITA_BIN/../lib/$library" built/lib; done
cat >"$root/look" <<'LOOK'
set -e
export PATH=/built/bin:/bin PARTITA_SIM_DIR=/tmp/nodes
partita-sim up h200-vm
cd /tmp
partita-sim run -- sh -c 'ls; ls /dev/nvidia0 /lib/firmware/nvidia; nvidia-smi -L; cat /proc/driver/nvidia/version'
ls /dev /lib
partita-sim down
LOOK
run 0 unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount -t sysfs sysfs "$0/sys" && exec chroot "$0" /bin/sh /look' "$root"
shows "/dev/nvidia0" "GPU 0: NVIDIA H200" "580.159.04" "nodes"
[ "$(grep -cE 'nvidia0|firmware' "$work/out")" = 2 ] || fail "the chroot itself shows simulated files"
