#!/usr/bin/env bash
# A container of runc's whose image has links to the host where things are mounted and made: they stay in the
# container, which is refused where that cannot be; the host and the image are as they were.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/run_common.sh"
mkdir "$work/host"
echo secret >"$work/host/secret"
make_image "$work/image"
seen() { (cd "$work" && find host image -printf '%p %y %m %s %l\n' | sort); }
# linked NAME TO: that of the image is a link.
linked() {
  rm -rf "${work:?}/image/$1"
  mkdir -p "$(dirname "$work/image/$1")"
  ln -s "$2" "$work/image/$1"
}
for to in "$work/host" "../../../../../../../../../..$work/host"; do
  for name in usr/lib/x86_64-linux-gnu usr/bin usr/lib64 etc/ld.so.conf.d etc/nvidia run var; do linked "$name" "$to"; done
  linked etc/ld.so.cache "$to/secret"
  [ "$(cat "$work/image/usr/bin/secret")" = secret ] || fail "the link leads nowhere: the test shows nothing"
  before=$(seen)
  run 0 in_image --gpu 6:1 -- bash -c "ls -d .$work/host/nvidia-smi && cat /etc/ld.so.cache >/dev/null && echo runs"
  shows runs nvidia-smi
  [ "$before" = "$(seen)" ] || { diff <(echo "$before") <(seen) >&2 || true; fail "something was changed"; }
done
# Where runc itself mounts, and makes links by path: the image is refused.
host=$(host_mounts)
for to in /etc "$work/host" ../../../../../../../../../../proc /dev; do
  for name in proc dev sys; do
    rm -rf "${work:?}/image" && make_image "$work/image"
    linked "$name" "$to"
    before=$(seen)
    run 2 in_image --gpu 0 -- bash -c 'echo it runs'
    complains "/$name in it is a link"
    [ "$before" = "$(seen)" ] || fail "something was changed: /$name -> $to"
    [ "$host" = "$(host_mounts)" ] || fail "the host's mounts changed: /$name -> $to"
  done
done
all_cleared
