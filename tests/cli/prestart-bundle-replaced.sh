#!/usr/bin/env bash
# A bundle, or the root in it, that is replaced by a link to the host after it was read: the prestart hook refuses,
# and makes nothing there.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/prestart_common.sh"
up h200-vm
# The moment in between is when partita is asked: the one beside our copy swaps first.
mkdir "$work/copy" "$work/host"
cp "$PARTITA_BIN/partita-hook" "$work/copy/"
# while_asked COMMAND…
while_asked() {
  rm -rf "$bundle" "$work/gone"
  mkdir -p "$rootfs"/{etc,proc,dev}
  container NVIDIA_VISIBLE_DEVICES=0
  printf '#!/bin/bash\nset -e\nPATH=/usr/bin:/bin\n%s\ntouch %q\nexec %q "$@"\n' "$*" "$work/asked" "$PARTITA_BIN/partita" >"$work/copy/partita"
  chmod +x "$work/copy/partita"
  rm -f "$work/asked"
  run 1 prestart_then true
  [ -e "$work/asked" ] || fail "it was not swapped"
  [ -z "$(ls -A "$work/host")" ] || fail "the host has $(ls -A "$work/host")"
  complains "nvidia-container-runtime-hook: error: "
}
sed -i 's|"$PARTITA_BIN/partita-hook"|"$work/copy/partita-hook"|' "$work/hook"
while_asked "mv $bundle $work/gone; mkdir $bundle; cp $work/gone/config.json $bundle; ln -s $work/host $bundle/rootfs"
complains "the bundle $bundle is another directory than it was"
while_asked "mv $bundle $work/gone; ln -s $work/gone $bundle; mv $rootfs $work/gone/old; ln -s $work/host $rootfs"
complains "the container's root $rootfs is no mount of its own"
while_asked "mv $rootfs $work/gone; ln -s $work/host $rootfs"
complains "the container's root $rootfs is no mount of its own"
