#!/usr/bin/env bash
# Several hooks in one process: in their order, each with its own words, for the one state on standard input. The first
# that fails ends it, by its own name; one that is not known is a warning, and the others are done.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/hook_common.sh"
mkdir "$rootfs/dev"
chmod 700 "$rootfs/dev"
run 0 hook in-turn create-symlinks --link a::/one --link b::/two -- noop -- future --x=1 -- chmod --mode 755 --path /dev \
  -- create-symlinks --link c::/one
complains 'nvidia-cdi-hook: warning: there is no hook "future": nothing is done'
[ "$(readlink "$rootfs/one" "$rootfs/two" | xargs)" = "c b" ] || fail "links: $(ls -l "$rootfs")"
[ "$(stat -c %a "$rootfs/dev")" = 755 ] || fail "the mode is not changed"

run 1 hook in-turn create-symlinks --link d::/three -- chmod --mode 888 --path /dev -- create-symlinks --link e::/four
complains 'nvidia-cdi-hook: error: chmod: "888" is no mode'
[ "$(readlink "$rootfs/three")" = d ] || fail "what came before the failure is not done"
[ ! -L "$rootfs/four" ] || fail "what came after the failure is done"

# Words of one are no words of another, and nothing between two of them is nothing.
run 0 hook in-turn noop -- --link x::/five
complains 'there is no hook "--link"'
[ ! -L "$rootfs/five" ] || fail "a hook without a name is done"
run 0 hook in-turn -- noop -- -- noop --
silent err
run 0 hook in-turn
silent err
# No hook within a hook.
run 0 hook in-turn in-turn create-symlinks --link x::/six
complains 'there is no hook "in-turn"'
[ ! -L "$rootfs/six" ] || fail "a hook within a hook is done"
