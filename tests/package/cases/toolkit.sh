#!/usr/bin/env bash
# partita-toolkit has the names of NVIDIA's container toolkit, takes its place and gives it back
source "$(dirname "$0")/../common.sh"
names=(nvidia-cdi-hook nvidia-container-cli nvidia-container-runtime nvidia-container-runtime-hook
  nvidia-container-runtime.cdi nvidia-container-runtime.legacy nvidia-container-toolkit nvidia-ctk)
# Stand-ins with a path of each of NVIDIA's packages.
stand_in() {
  mkdir -p $work/"$1"/{DEBIAN,usr/bin}
  printf '%s\n' "Package: $1" "Version: 1.20.1-1" "Architecture: all" "Description: a stand-in" \
    "Maintainer: nobody <nobody@localhost>" >$work/"$1"/DEBIAN/control
  printf '#!/bin/sh\necho the other one\n' >$work/"$1"/usr/bin/"$2"
  chmod +x $work/"$1"/usr/bin/"$2"
  dpkg-deb --root-owner-group -b $work/"$1" $root/packages/"$1".deb >/dev/null
}
stand_in nvidia-container-toolkit nvidia-container-runtime-hook
stand_in nvidia-container-toolkit-base nvidia-container-runtime
stand_in libnvidia-container-tools nvidia-container-cli
apt install /packages/{nvidia-container-toolkit,nvidia-container-toolkit-base,libnvidia-container-tools}.deb

install_package
run 0 nvidia-container-runtime
is "the other one"
apt install --no-install-recommends /packages/partita-toolkit.deb
for name in "${names[@]}"; do
  run 0 readlink -f "/usr/bin/$name"
  is /usr/bin/partita-hook
  run 0 man -w "$name"
done
run 0 nvidia-ctk --version
is "partita ${version%-*}"
run 0 nvidia-cdi-hook
complains "nvidia-cdi-hook: warning: no hook is named"

apt remove partita-toolkit
for name in "${names[@]}"; do gone "/usr/bin/$name"; done
there /usr/bin/partita-hook
apt install /packages/nvidia-container-toolkit-base.deb
run 0 nvidia-container-runtime
is "the other one"
