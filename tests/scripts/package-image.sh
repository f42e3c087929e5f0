#!/usr/bin/env bash
# The image of a build: the same bytes each time, the programs under all their names, libraries for them and for
# the driver's, no shell; and it runs on nothing but what is in it.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd) build=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/partita-scripts.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

"$root/scripts/package-image" "$build" "$work/a.tar" >"$work/said"
grep -q "partita.dev/partita:[0-9]" "$work/said" || fail "its name is not told: $(cat "$work/said")"
"$root/scripts/package-image" "$build" "$work/b.tar" >/dev/null
cmp "$work/a.tar" "$work/b.tar" || fail "two images of one build differ"

mkdir "$work/image" "$work/root"
tar -xf "$work/a.tar" -C "$work/image"
python3 - "$work/image" "$work/layer.tar" <<'PY'
import hashlib, json, pathlib, sys
image = pathlib.Path(sys.argv[1])
def blob(of):
    data = (image / "blobs" / of["digest"].replace(":", "/")).read_bytes()
    assert "sha256:" + hashlib.sha256(data).hexdigest() == of["digest"] and len(data) == of["size"], of
    return data
manifest = json.loads(blob(json.loads((image / "index.json").read_text())["manifests"][0]))
config = json.loads(blob(manifest["config"]))["config"]
assert (config["Entrypoint"], config["Cmd"]) == (["/usr/bin/partita"], ["agent"]), config
pathlib.Path(sys.argv[2]).write_bytes(blob(manifest["layers"][0]))
PY
tar -xf "$work/layer.tar" -C "$work/root"
for name in partita partita-hook config-manager gpu-feature-discovery mps-control-daemon nvidia-cdi-hook nvidia-ctk \
  nvidia-device-plugin nvidia-mig-parted; do
  [ -x "$work/root/usr/bin/$name" ] || fail "no $name in the image"
done
[ -z "$(find "$work/root" -name '*sh' -type f -perm /111)" ] || fail "there is a shell in it"
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
  [ -n "$(find "$work/root" -name "$library")" ] || fail "no $library in the image"
done
if [ "$(id -u)" = 0 ]; then
  chroot "$work/root" /usr/bin/partita version | grep -q partita || fail "partita does not run in it"
  chroot "$work/root" /usr/bin/partita-hook --version >/dev/null || fail "partita-hook does not run in it"
fi

status=0
"$root/scripts/package-image" "$work" "$work/c.tar" 2>"$work/said" || status=$?
[ "$status" = 1 ] || fail "an empty build folder: exit status $status"
grep -q "does not exist; build it first: make release" "$work/said" || fail "$(cat "$work/said")"
[ ! -e "$work/c.tar" ] || fail "half an image was left"
