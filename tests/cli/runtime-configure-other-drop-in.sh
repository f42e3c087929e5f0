#!/usr/bin/env bash
# A drop-in file that is not ours is edited as the main file is: what else it says stays.
source "$(dirname "$0")/common.sh"

mkdir "$work/etc"
dropin=$work/etc/99-nvidia.toml
containerd=(partita runtime configure --runtime containerd --config "$work/etc/config.toml" --drop-in-config "$dropin")
printf 'version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]\n  SystemdCgroup = true\n' >"$work/etc/config.toml"
cat >"$dropin" <<'TOML'
# mine
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata] # kept
  runtime_type = 'io.containerd.kata.v2'
TOML
cp -a "$work/etc" "$work/before"
run 0 "${containerd[@]}"
head -4 "$dropin" | cmp - "$work/before/99-nvidia.toml" || { cat "$dropin"; fail "it was written anew"; }
shows "$dropin: edited"
grep -q 'runtimes.nvidia\]' "$dropin" || fail "no runtime"
grep -A9 'runtimes.nvidia.options\]' "$dropin" | grep -q "SystemdCgroup = true" || fail "the cgroup driver of runc is not inherited"
run 0 "${containerd[@]}"
shows "nothing to change"
run 0 "${containerd[@]}" --undo
diff -r "$work/before" "$work/etc" || fail "undo"
run 0 "${containerd[@]}"
echo '# a note' >>"$dropin"
run 0 "${containerd[@]}" --undo
{ cat "$work/before/99-nvidia.toml"; echo '# a note'; } | cmp - "$dropin" || fail "undo after an edit"

# Without a table of the plugin it gets the main file's, and loses it again.
rm -f "$work"/etc/*.bak-* "$dropin"
printf '[debug]\n  level = "info"\n' >"$dropin"
run 0 "${containerd[@]}" --set-as-default
grep -q 'level = "info"' "$dropin" || fail "another table is gone"
grep -q 'runtimes.runc.options\]' "$dropin" || fail "the plugin's table was not copied"
run 0 "${containerd[@]}"
shows "nothing to change"
echo '# a note' >>"$dropin"
run 0 "${containerd[@]}" --undo
printf '[debug]\n  level = "info"\n# a note\n' | cmp - "$dropin" || { cat "$dropin"; fail "undo of what was copied"; }

# Our own, edited by somebody: his edit stays when it is configured again.
rm "$dropin"*
run 0 "${containerd[@]}"
printf '[debug]\n  level = "info"\n' >>"$dropin"
run 0 "${containerd[@]}" --set-as-default
grep -q 'level = "info"' "$dropin" || fail "an edit of our file is gone"

# Two versions cannot be one table.
printf 'version = 3\n[debug]\n' >"$dropin"
run 2 "${containerd[@]}"
complains "$dropin is of version 3" "--drop-in-config"
