#!/usr/bin/env bash
# With what containerd itself says: a second time changes nothing, a default stays until undo, and a
# program that says nothing is no containerd.
source "$(dirname "$0")/common.sh"

mkdir "$work/etc"
dropin=$work/etc/99-nvidia.toml
# As containerd prints them: one sorted document of all files, with defaults that nobody wrote.
cat >"$work/containerd" <<'SH'
#!/usr/bin/env bash
cri="plugins.'io.containerd.grpc.v1.cri'"
default=kata
grep -q 'default_runtime_name = "nvidia"' "${2%/*}/99-nvidia.toml" 2>/dev/null && default=nvidia
cat <<TOML
version = 2
[plugins]
  [$cri]
    sandbox_image = 'pause'
    [$cri.containerd]
      default_runtime_name = '$default'
      [$cri.containerd.runtimes]
        [$cri.containerd.runtimes.kata]
          runtime_type = 'k'
TOML
[ ! -e "${2%/*}/99-nvidia.toml" ] || cat <<TOML
        [$cri.containerd.runtimes.nvidia]
          pod_annotations = []
          runtime_type = 'k'
          [$cri.containerd.runtimes.nvidia.options]
            BinaryName = '/usr/bin/nvidia-container-runtime'
TOML
SH
chmod +x "$work/containerd"
containerd=(partita runtime configure --runtime containerd --config "$work/etc/config.toml" --drop-in-config "$dropin"
  --config-source command --executable-path)
printf 'version = 2\n' >"$work/etc/config.toml"
for more in "" --set-as-default; do
  run 0 "${containerd[@]}" "$work/containerd" $more
  run 0 "${containerd[@]}" "$work/containerd" $more
  shows "nothing to change"
done
grep -q 'default_runtime_name = "nvidia"' "$dropin" || fail "no default"
run 0 "${containerd[@]}" "$work/containerd"
shows "nothing to change"
# Another runtime of ours leaves the first.
run 0 "${containerd[@]}" "$work/containerd" --runtime-name gpu
grep -q 'default_runtime_name = "nvidia"' "$dropin" || fail "the default is gone"
grep -q 'runtimes.nvidia\]' "$dropin" || fail "the first runtime is gone"
run 0 "${containerd[@]}" "$work/containerd" --undo
[ ! -e "$dropin" ] || fail "undo"

run 2 "${containerd[@]}" /bin/true
complains "/bin/true" "config dump" "says nothing"
[ ! -e "$dropin" ] || fail "written from nothing"
