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

# A link may lead out of the bundle, but not to nothing and not to the host's root: where it leads is told.
echo "{\"bundle\":\"$bundle\"}" >"$work/state"
# leads TARGET
leads() {
  ln -sfn "$1" "$bundle/link"
  echo '{"ociVersion":"1.0.2","root":{"path":"link"}}' >"$bundle/config.json"
}
leads ../elsewhere
run 0 hook create-symlinks --link a::/four
[ "$(readlink "$work/elsewhere/four")" = a ] || fail "no link"
leads "$work/gone"
run 1 hook create-symlinks --link a::/five
hint="hint: root.path of the bundle's config.json must lead to the container's own directory"
complains "open the container's root $bundle/link (a link to $work/gone): No such file or directory" "$hint"
leads /
run 1 hook create-symlinks --link a::/five
complains "the container's root $bundle/link (a link to /) is the host's" "$hint"
[ ! -e /five ] || fail "it wrote into the host"
