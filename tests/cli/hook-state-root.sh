#!/usr/bin/env bash
# crun tells the container's root in the state: a bundle that cannot be read is not needed (H12). A relative root
# counts from the bundle, not from where the hook was started.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
echo "{\"bundle\":\"$work/unreadable\",\"root\":\"$rootfs\"}" >"$work/state"
run 0 hook create-symlinks --link a::/one
[ "$(readlink "$rootfs/one")" = a ] || fail "no link"
echo "{\"bundle\":\"$bundle\",\"root\":\"rootfs\"}" >"$work/state"
mkdir -p "$work/elsewhere/rootfs" && cd "$work/elsewhere"
run 0 hook create-symlinks --link a::/two
[ "$(readlink "$rootfs/two")" = a ] || fail "no link"
for root in / /.. //; do
  echo "{\"root\":\"$root\"}" >"$work/state"
  run 1 hook create-symlinks --link a::/three
  complains "the container's root $root is the host's"
done
[ ! -e /three ] || fail "it wrote into the host"
