# Sourced by tests of nvidia-container-runtime-hook and nvidia-container-cli, after common.sh: a container that is made
# and not started, on a simulated node, and the hook called for it as docker does. Node and container have mount
# namespaces of their own.
bundle=$work/bundle rootfs=$work/bundle/rootfs
mkdir -p "$rootfs"/{etc,usr/bin,proc,dev,sys,tmp}
export work rootfs
printf '[nvidia-container-cli]\nno-cgroups = true\n' >"$work/config.toml"

# container VARIABLE=VALUE…: what the engine wrote of it.
container() {
  python3 - "$@" >"$bundle/config.json" <<'PY'
import json, sys
print(json.dumps({"ociVersion": "1.0.2", "process": {"env": ["PATH=/bin"] + sys.argv[1:]}, "root": {"path": "rootfs"}}))
PY
}

# On the node: the container's process, then "$@", with its number as $pid, then what is left of it goes.
cat >"$work/with_container" <<'SCRIPT'
set -euo pipefail
mkfifo "$work/ready" "$work/end"
setpriv --pdeathsig KILL unshare --mount --propagation private bash -c '
  mount --bind "$rootfs" "$rootfs" && mount --rbind /proc "$rootfs/proc" && mount -t tmpfs none "$rootfs/dev"
  echo >"$work/ready"; read -r _ <"$work/end"' &
pid=$!
trap 'echo >"$work/end"; wait "$pid" || true; rm -f "$work/ready" "$work/end"' EXIT
read -r _ <"$work/ready"
export pid
printf '{"ociVersion":"1.0.2","id":"c","pid":%s,"bundle":"%s"}' "$pid" "$work/bundle" >"$work/state"
"$@"
SCRIPT
# inside COMMAND…: in the container's mount namespace, at its root. For scripts that run with the container.
cat >"$work/inside" <<'SCRIPT'
exec nsenter --target "$pid" --mount bash -c 'cd "$rootfs" && exec "$@"' inside "$@"
SCRIPT
chmod +x "$work/inside"
with_container() { on_node unshare --mount --propagation private bash "$work/with_container" "$@"; }

cat >"$work/hook" <<'SCRIPT'
cd "$work/bundle" && exec -a nvidia-container-runtime-hook "$PARTITA_BIN/partita-hook" -config "$work/config.toml" prestart <"$work/state"
SCRIPT
# prestart: the hook for the container, and nothing else.
prestart() { with_container bash "$work/hook"; }
# prestart_then SCRIPT: the hook, then the script beside the container.
prestart_then() {
  cat >"$work/then" <<<"set -euo pipefail
before=\$(cat /proc/self/mountinfo)
bash \"\$work/hook\"
[ \"\$before\" = \"\$(cat /proc/self/mountinfo)\" ] || { echo 'the host has other mounts' >&2; exit 9; }
inside() { bash \"\$work/inside\" \"\$@\"; }
$1"
  with_container bash "$work/then"
}
export PARTITA_BIN
