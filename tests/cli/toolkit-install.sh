#!/usr/bin/env bash
# partita-hook comes onto a host under all its names: whole or not at all, again without a change, and a directory
# that cannot be written is refused by the name of the key.
source "$(dirname "$0")/common.sh"

run 0 partita toolkit install --to "$work/host/toolkit"
shows "installed partita-hook, nvidia-cdi-hook"
cmp "$work/host/toolkit/partita-hook" "$(command -v partita-hook)" || fail "another program was installed"
[ "$(stat -c %a "$work/host/toolkit/partita-hook")" = 755 ] || fail "it cannot be started"
for name in nvidia-cdi-hook nvidia-ctk nvidia-container-runtime nvidia-container-runtime-hook nvidia-container-cli \
  nvidia-container-toolkit nvidia-container-runtime.cdi nvidia-container-runtime.legacy; do
  [ "$(readlink "$work/host/toolkit/$name")" = partita-hook ] || fail "$name is no link to it"
done
"$work/host/toolkit/nvidia-cdi-hook" --version >/dev/null || fail "it does not run"

inode=$(stat -c %i "$work/host/toolkit/partita-hook")
run 0 partita toolkit install --to "$work/host/toolkit" -o json
shows '"changed": []'
[ "$(stat -c %i "$work/host/toolkit/partita-hook")" = "$inode" ] || fail "the same program was written again"

# What others left under these names makes room: an older program, a wrapper, a link to elsewhere.
echo old >"$work/host/toolkit/partita-hook"
rm "$work/host/toolkit/nvidia-ctk" "$work/host/toolkit/nvidia-cdi-hook"
echo '#!/bin/sh' >"$work/host/toolkit/nvidia-ctk"
ln -s /bin/false "$work/host/toolkit/nvidia-cdi-hook"
run 0 partita toolkit install --to "$work/host/toolkit"
shows "installed partita-hook, nvidia-cdi-hook, nvidia-ctk"
cmp "$work/host/toolkit/partita-hook" "$(command -v partita-hook)" || fail "the old program stayed"
[ "$(find "$work/host/toolkit" | wc -l)" = 10 ] || fail "something else was left: $(ls -A "$work/host/toolkit")"
# A link in its place is replaced, and what it leads to is left alone.
cp "$(command -v partita-hook)" "$work/elsewhere"
ln -sf "$work/elsewhere" "$work/host/toolkit/partita-hook"
run 0 partita toolkit install --to "$work/host/toolkit"
[ ! -L "$work/host/toolkit/partita-hook" ] || fail "the program is a link to somewhere else"

touch "$work/file"
for target in "$work/file" "$work/file/toolkit" /proc/toolkit; do
  run 1 partita toolkit install --to "$target"
  complains "install the toolkit in $target" "toolkit.installDir"
  silent out
done
