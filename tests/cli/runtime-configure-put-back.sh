#!/usr/bin/env bash
# After somebody's edit, undo makes our keys what they were before us, and nothing else.
source "$(dirname "$0")/common.sh"

mkdir "$work/etc"
file=$work/etc/daemon.json
original='{
  "default-runtime": "runsc",
  "runtimes": { "nvidia": { "path": "/opt/mine", "runtimeArgs": ["-x"] } },
  "features": { "cdi": false }
}'
docker=(partita runtime configure --config "$file")
same() { printf '%s\n\n' "$original" | cmp - "$1" || { cat "$1"; fail "$2"; }; }

echo "$original" >"$file"
run 0 "${docker[@]}" --set-as-default --enable-cdi
echo >>"$file"
run 0 "${docker[@]}" --undo
same "$file" "apply, edit, undo"
complains "$file is not as we left it: only our entries are taken back" 'default-runtime is "runsc" again' \
  'runtimes.nvidia.path is "/opt/mine" again' "features.cdi is false again"

# The first original counts, also after an edit between two orders.
echo "$original" >"$file"
run 0 "${docker[@]}" --set-as-default
echo >>"$file"
run 0 "${docker[@]}" --enable-cdi --runtime-path /opt/other
run 0 "${docker[@]}" --undo
same "$file" "apply, edit, apply, undo"

# What somebody changed himself is his.
echo "$original" >"$file"
run 0 "${docker[@]}" --set-as-default
sed -i 's/"nvidia",/"kata",/' "$file"
run 0 "${docker[@]}" --undo
complains "default-runtime was changed by somebody and stays"
grep -q '"default-runtime": "kata"' "$file" || fail "somebody's default is gone"
grep -q '"path": "/opt/mine"' "$file" || fail "the runtime is not as it was"

# containerd, version 1.
file=$work/etc/config.toml
containerd=(partita runtime configure --runtime containerd --config "$file" --drop-in-config "$work/etc/d/99-nvidia.toml")
printf '%s\n' '[plugins.cri]' "  enable_cdi = false # mine" '[plugins.cri.containerd]' "  default_runtime_name = 'kata'" \
  '[plugins.cri.containerd.runtimes.kata]' '  runtime_type = "k"' >"$file"
cp "$file" "$work/original"
run 0 "${containerd[@]}" --set-as-default --enable-cdi
echo '# a note' | tee -a "$file" >>"$work/original"
run 0 "${containerd[@]}" --set-as-default --enable-cdi
shows "nothing to change"
run 0 "${containerd[@]}" --undo
cmp "$work/original" "$file" || { cat "$file"; fail "version 1 is not as it was"; }

# From version 2 on: our import goes, others stay.
printf 'version = 2\n[grpc]\n  gid = 0\n' >"$file"
run 0 "${containerd[@]}"
sed -i 's|^imports = \[|&"/run/mine.toml", |' "$file"
run 0 "${containerd[@]}" --undo
printf 'version = 2\nimports = ["/run/mine.toml"]\n[grpc]\n  gid = 0\n' | cmp - "$file" || { cat "$file"; fail "imports"; }
[ ! -e "$work/etc/d/99-nvidia.toml" ] || fail "the drop-in is still there"
printf 'version = 2\n[grpc]\n  gid = 0\n' >"$file"
run 0 "${containerd[@]}"
echo '# a note' >>"$file"
run 0 "${containerd[@]}" --undo
printf 'version = 2\n[grpc]\n  gid = 0\n# a note\n' | cmp - "$file" || { cat "$file"; fail "our import stays"; }

# What somebody added to our drop-in is kept.
run 0 "${containerd[@]}" --set-as-default
printf '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata]\n  runtime_type = "k"\n' >>"$work/etc/d/99-nvidia.toml"
run 0 "${containerd[@]}" --undo
grep -q kata "$work/etc/d/99-nvidia.toml" || fail "somebody's runtime is gone"
! grep -q 'nvidia\]\|default_runtime_name' "$work/etc/d/99-nvidia.toml" || fail "ours is still there"
