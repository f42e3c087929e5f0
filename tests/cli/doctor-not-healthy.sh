#!/usr/bin/env bash
# What keeps containers from starting although everything is in its place: each is BAD, and the
# command that is printed mends it.
source "$(dirname "$0")/doctor_common.sh"

# mended: the commands that were printed are run; then nothing is wrong any more.
mended() {
  sed -n 's/^         \$ //p' "$work/out" >"$work/mend"
  [ -s "$work/mend" ] || fail "no command is printed"
  bash -e "$work/mend" || fail "the command itself fails: $(cat "$work/mend")"
  run 0 doctor
}

# A library that the loaded module does not answer.
run 0 partita-sim fault version-mismatch --node "$node"
run 6 on_node partita doctor
shows "BAD      the driver does not answer" "systemctl reboot"
run 0 partita-sim fault clear --all --node "$node"

# A driver root that is not there.
run 6 partita doctor --host-root "$host" --driver-root "$work/none"
shows "BAD      the driver root $work/none is not there"

# A CDI file that others may write, or own.
spec="$host/etc/cdi/nvidia.yaml"
chmod 0666 "$spec"
run 1 doctor
shows "BAD      others than root may change $spec, and so choose what runs as root"
mended
chown 65534 "$spec"
run 1 doctor
shows "BAD      others than root may change $spec"
mended
cd "$work"
mv "$spec" "$host/etc/cdi/a b;\$(touch ran).yaml"
chmod 0666 "$host/etc/cdi/"a*
run 1 doctor
mended
[ ! -e "$work/ran" ] || fail "a file's name was run as a command"
mv "$host/etc/cdi/"a* "$spec"

# A runtime that is named and not there.
install -m 0755 /bin/true "$bin/dockerd"
install -m 0755 /bin/true "$host/usr/bin/nvidia-container-runtime"
install -m 0755 /bin/true "$host/usr/bin/nvidia-container-runtime-hook"
mkdir -p "$host/etc/docker" "$host/etc/containerd/conf.d"
echo '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}' >"$host/etc/docker/daemon.json"
run 0 doctor
shows "docker  knows the runtime nvidia"
echo '{"runtimes": {"nvidia": {"path": "/opt/none"}}}' >"$host/etc/docker/daemon.json"
run 1 doctor
shows "BAD      docker's runtime nvidia is /opt/none, which is not there" "$ partita runtime configure --runtime docker"
rm "$bin/dockerd"
install -m 0755 /bin/true "$bin/containerd"
cat >"$host/etc/containerd/config.toml" <<'TOML'
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "kata"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
    BinaryName = "/usr/bin/nvidia-container-runtime"
TOML
run 1 doctor
shows "BAD      containerd's default runtime kata is in none of its files"
cat >"$host/etc/containerd/conf.d/99-nvidia.toml" <<'TOML'
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata.options]
  BinaryName = "/opt/kata"
TOML
run 1 doctor
shows "BAD      containerd's runtime kata is /opt/kata, which is not there"
install -D -m 0644 /bin/true "$host/opt/kata"
run 1 doctor
shows "BAD      containerd's runtime kata is /opt/kata, which cannot be executed" "$ chmod 0755 /opt/kata"
