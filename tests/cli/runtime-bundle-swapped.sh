#!/usr/bin/env bash
# A config.json, or a whole bundle, that somebody replaces between reading and writing is not written to.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
up h200-vm
# The moment in between is when partita is asked: the one beside our copy swaps first.
mkdir "$work/copy" && cp "$PARTITA_BIN/partita-hook" "$work/copy/"
ln -sf "$work/copy/partita-hook" "$work/bin/nvidia-container-runtime"
# while_asked COMMAND…
while_asked() {
  printf '#!/bin/bash\nset -e\nPATH=/usr/bin:/bin\n%s\nexec %q "$@"\n' "$*" "$PARTITA_BIN/partita" >"$work/copy/partita"
  chmod +x "$work/copy/partita"
  bundle NVIDIA_VISIBLE_DEVICES=0
  run 1 on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/bundle" box
  complains "error: could not apply required modification to OCI specification: "
  [ ! -e "$record" ] || fail "runc was called"
}
while_asked "cp $config $work/other; echo >>$work/other; mv $work/other $config"
cmp -s "$config" "$work/before" && fail "it was not swapped"
[ "$(grep -c nvidia0 "$config")" = 0 ] || fail "the other file was written"
while_asked "echo ' ' >>$config"
while_asked "rm $config; ln -s $work/before $config"
cmp "$work/before" <(cat "$config") || fail "the link was followed"
rm "$config"
while_asked "mv $work/bundle $work/gone; mkdir $work/bundle; echo '{}' >$config"
[ "$(cat "$config")" = "{}" ] || fail "the other bundle was written"
