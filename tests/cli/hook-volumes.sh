#!/usr/bin/env bash
# A directory of the host in the container (a volume), and an image whose links lead into it: root's hook writes
# nothing there, and the container does not start. A volume over the loader's own directories is left alone and told;
# the container starts. ldconfig writes to the image alone.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
volume=$work/volume
mkdir -p "$volume" "$rootfs/usr/lib"
echo SECRET >"$volume/key"
chmod 600 "$volume/key"
chown 1000:1000 "$volume/key"
ln -s /nowhere "$volume/libgone.so.1"
echo ours >"$volume/libEGL_nvidia.so.0"
library "$volume/libfoo.so.1.0" libfoo.so.1
seen() { (cd "$volume" && find . -printf '%p %y %m %U %s %l %T@\n' | sort); }
before=$(seen)

# image: an image anew, with the volume at /data unless AT says where.
image() {
  rm -rf "$rootfs" && mkdir -p "$rootfs"/{etc/ld.so.conf.d,usr/lib,data,dev}
  echo 'include /etc/ld.so.conf.d/*.conf' >"$rootfs/etc/ld.so.conf"
}
# hook_with AT WORD…: the hook, for a container with the volume there.
hook_with() {
  unshare --mount --propagation private bash -c \
    'mount --rbind "$0" "$0" && mount --bind "$1" "$0$2" && exec ${OLD:-} "$4/partita-hook" "${@:5}" <"$3"' \
    "$rootfs" "$volume" "$1" "$work/state" "$PARTITA_BIN" "${@:2}"
}
untouched() { diff <(echo "$before") <(seen) >&2 || fail "the volume was changed: $1"; }
leads_out() {
  complains "leads to another mount"
  untouched "$1"
}

for OLD in "" "partita_without_syscall openat2,statx,mount_setattr"; do
  export OLD
  image
  touch "$rootfs/etc/alpine-release"
  ln -s /data/key "$rootfs/etc/ld-musl-$(uname -m).path"
  run 1 hook_with /data update-ldcache --folder /opt/driver
  leads_out "the musl loader's path file is a link"

  image
  rmdir "$rootfs/etc/ld.so.conf.d"
  ln -s ../data "$rootfs/etc/ld.so.conf.d"
  run 1 hook_with /data update-ldcache --folder /opt/driver
  leads_out "ld.so.conf.d is a link"
  rm "$rootfs/etc/ld.so.conf.d"
  ln -s /data/made "$rootfs/etc/ld.so.conf.d"
  run 1 hook_with /data update-ldcache --folder /opt/driver
  leads_out "ld.so.conf.d is a link to what is not there"

  image
  ln -s /data "$rootfs/usr/lib64"
  run 1 hook_with /data create-symlinks --link x::/usr/lib64/libEGL_nvidia.so.0
  leads_out "a library directory is a link"
  run 1 hook_with /data create-symlinks --link x::/usr/lib64/gbm/x
  leads_out "below a library directory that is a link"
  ln -s /data/key "$rootfs/dev/dri"
  run 1 hook_with /data chmod --mode 755 --path /dev/dri
  leads_out "what gets another mode is a link"

  # No link: ldconfig looks there, and may not write.
  image
  echo /data >>"$rootfs/etc/ld.so.conf"
  run 0 hook_with /data update-ldcache --folder /opt/driver
  untouched "ld.so.conf lists it"
  cached
  shows "/data/libfoo.so.1"

  # A volume where the loader's files would go, by no link: the user put it there.
  image
  library "$rootfs/opt/driver/libdriver.so.1.0" libdriver.so.1
  run 0 hook_with /etc/ld.so.conf.d update-ldcache --folder /opt/driver
  complains "warning: /etc/ld.so.conf.d is a mount of the container: no files are put there"
  untouched "it lies over ld.so.conf.d"
  cached
  shows "/opt/driver/libdriver.so.1"
  image
  library "$rootfs/opt/driver/libdriver.so.1.0" libdriver.so.1
  run 0 hook_with /etc update-ldcache --folder /opt/driver
  complains "warning: /etc is a mount of the container: no files are put there"
  untouched "it lies over /etc"
  [ "$(readlink "$rootfs/opt/driver/libdriver.so.1")" = libdriver.so.1.0 ] || fail "the library's link is not made"
done

# What is replaced in the image keeps its owner and mode, also where a link within the image leads.
image
touch "$rootfs/etc/alpine-release"
echo /lib >"$rootfs/etc/real.path"
chown 7:8 "$rootfs/etc/real.path"
chmod 640 "$rootfs/etc/real.path"
ln -s real.path "$rootfs/etc/ld-musl-$(uname -m).path"
run 0 hook_with /data update-ldcache --folder /opt/driver
[ "$(stat -c '%u:%g %a' "$rootfs/etc/real.path")" = "7:8 640" ] || fail "another owner or mode"
grep -qx /opt/driver "$rootfs/etc/real.path" || fail "the folder is not listed"

# A directory of the runtime's own, as /dev is, takes links.
image
volume=$work/dev
mkdir "$volume"
run 0 hook_with /dev create-symlinks --link ../card0::/dev/dri/by-path/x
[ "$(readlink "$volume/dri/by-path/x")" = ../card0 ] || fail "no link in /dev"
