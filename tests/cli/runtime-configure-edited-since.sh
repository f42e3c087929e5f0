#!/usr/bin/env bash
# What somebody edited after us stays when it is taken back: only our entries go.
source "$(dirname "$0")/common.sh"

mkdir "$work/etc"
printf '{}\n' >"$work/etc/daemon.json"
docker=(--runtime docker --config "$work/etc/daemon.json")
run 0 partita runtime configure "${docker[@]}" --set-as-default
sed -i 's/^{$/{\n    "debug": true,/' "$work/etc/daemon.json"
run 0 partita runtime configure "${docker[@]}" --undo
complains "is not as we left it: only our entries are taken back: runtimes.nvidia is gone; default-runtime is gone"
printf '{\n    "debug": true\n}\n' | cmp - "$work/etc/daemon.json" || {
  cat "$work/etc/daemon.json"
  fail "not only ours"
}

# The drop-in goes as a whole where no more than a comment was added; a copy is kept.
containerd=(--runtime containerd --config "$work/etc/config.toml" --drop-in-config "$work/etc/conf.d/99-nvidia.toml")
run 0 partita runtime configure "${containerd[@]}"
echo '# a note' >>"$work/etc/conf.d/99-nvidia.toml"
run 0 partita runtime configure "${containerd[@]}" --undo
complains "it is removed, and a copy kept"
[ ! -e "$work/etc/conf.d/99-nvidia.toml" ] || fail "the drop-in is still there"
grep -q '# a note' "$work/etc/conf.d/99-nvidia.toml.bak-1" || fail "no copy"
[ ! -e "$work/etc/config.toml" ] || fail "the file that we made is still there"
