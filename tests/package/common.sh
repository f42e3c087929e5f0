# Sourced by every case, in a mount namespace of its own: a fresh Debian 12 in $root, the package in it
# as /packages/*.deb. The second line of a case says what holds, in one line.
set -euo pipefail
: "${base:?}" "${package:?}" "${build:?cases are started by tests/package/run}"
# Memory over a folder that every Debian has: it goes with the namespace.
work=/mnt
mount -t tmpfs -o mode=755,size=2G tmpfs $work
root=$work/root
mkdir $root
mount -t tmpfs -o mode=755,size=1G tmpfs $root
tar -C $root -xf "$base"
mount -t proc proc $root/proc
mount -t sysfs sysfs $root/sys
mount -t devpts -o newinstance,ptmxmode=0666 devpts $root/dev/pts
mount -t tmpfs -o mode=755 tmpfs $root/run
mkdir $root/packages
cp "$package" $root/packages/partita.deb
cp "$(dirname "$package")"/partita-toolkit_*_all.deb $root/packages/partita-toolkit.deb
version=$(dpkg-deb -f "$package" Version)

fail() {
  echo "FAILED: $*"
  for file in $work/out $work/err; do
    if [ -s $file ]; then echo "--- $(basename $file)" && cat -v $file; fi
  done
  exit 1
}

# in_root COMMAND…: as root's shell in the Debian has it.
in_root() {
  chroot $root /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    TERM=xterm LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# run STATUS COMMAND…: in the Debian; output goes to $work/out and $work/err.
run() {
  local wanted=$1 status=0
  shift
  in_root "$@" >$work/out 2>$work/err </dev/null || status=$?
  [ $status -eq "$wanted" ] || fail "exit status $status, not $wanted: $*"
}
shows() { for text in "$@"; do grep -qF -- "$text" $work/out || fail "output lacks: $text"; done; }
complains() { for text in "$@"; do grep -qF -- "$text" $work/err || fail "error lacks: $text"; done; }
is() { [ "$(cat $work/out)" = "$1" ] || fail "output is not: $1"; }
# Links count, those that point to nothing too.
there() { for path in "$@"; do [ -e "$root$path" ] || [ -L "$root$path" ] || fail "$path is not there"; done; }
gone() { for path in "$@"; do [ ! -e "$root$path" ] && [ ! -L "$root$path" ] || fail "$path is there"; done; }

apt() { run 0 apt-get -qq -y -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 "$@"; }
install_package() { apt install --no-install-recommends "/packages/${1:-partita}.deb"; }

# package_newer: /packages/newer.deb, the same with a higher version.
package_newer() {
  dpkg-deb -R "$package" $work/newer
  sed -i "s/^Version: .*/&+newer/" $work/newer/DEBIAN/control
  dpkg-deb --root-owner-group -b $work/newer $root/packages/newer.deb >/dev/null
}

# package_nvidia: /packages/nvidia-mig-manager.deb, with the paths of NVIDIA's package that are ours too.
package_nvidia() {
  local dir=$work/nvidia
  mkdir -p $dir/{DEBIAN,usr/bin,lib/systemd/system,etc/systemd/system/nvidia-mig-manager.service.d}
  printf '%s\n' "Package: nvidia-mig-manager" "Version: 0.12.1-1" "Architecture: all" "Description: a stand-in" \
    "Maintainer: nobody <nobody@localhost>" >$dir/DEBIAN/control
  printf '#!/bin/sh\necho the other one\n' >$dir/usr/bin/nvidia-mig-parted
  chmod +x $dir/usr/bin/nvidia-mig-parted
  printf '%s\n' "[Service]" "Type=oneshot" "ExecStart=/usr/bin/nvidia-mig-parted" "[Install]" "WantedBy=multi-user.target" \
    >$dir/lib/systemd/system/nvidia-mig-manager.service
  printf '[Unit]\n' >$dir/lib/systemd/system/nvidia-gpu-reset.target
  printf '%s\n' "[Service]" 'Environment="MIG_PARTED_SELECTED_CONFIG=all-disabled"' \
    >$dir/etc/systemd/system/nvidia-mig-manager.service.d/override.conf
  echo /etc/systemd/system/nvidia-mig-manager.service.d/override.conf >$dir/DEBIAN/conffiles
  dpkg-deb --root-owner-group -b $dir $root/packages/nvidia-mig-manager.deb >/dev/null
}

# simulate PROFILE: a simulated node in the Debian, by this build's simulator; `on_node COMMAND…` is
# what to `run` there.
simulate() {
  mkdir -p $root/simulator
  mount --bind "$build" $root/simulator
  mount -o remount,bind,ro $root/simulator
  run 0 /simulator/bin/partita-sim up "$1" --node node
}
on_node=(/simulator/bin/partita-sim run --node node --)

enabled() { in_root systemctl --root=/ is-enabled "$1" 2>&1 || true; }
