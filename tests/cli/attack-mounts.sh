#!/usr/bin/env bash
# Mounts: none of the container's own lies over what is injected, however its destination is spelt; and with an image
# whose directories are links to the host, what is mounted and made stays in the container, and nothing of the image is
# mounted anywhere (CVE-2024-0132, -0133, 2025-23359).
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
source "$(dirname "$0")/prestart_common.sh"
up h200-vm
mkdir -p "$work/host"
echo secret >"$work/host/secret"
seen() { find "$work/host" -printf '%p %m %s %l %T@\n' | sort; }
before=$(seen)
same() { [ "$before" = "$(seen)" ] || { diff <(echo "$before") <(seen) >&2 || true; fail "the host was changed: $1"; }; }

# A container with mounts over every place that is injected, and over what is above it, in four spellings.
on_node partita cdi jit >"$work/devices.json"
cat >"$work/cover" <<'PY'
import json, os, sys
config, devices = sys.argv[1:]
it = json.load(open(config))
ours = [m["containerPath"] for m in json.load(open(devices))["spec"]["containerEdits"]["mounts"]]
places = {"/proc", "/dev", "/etc", "/etc/ld.so.cache", "/usr", "/usr/lib", "/usr/bin", "/run"}
for path in ours:
    while path != "/":
        places.add(path)
        path = os.path.dirname(path)
spellings = (lambda p: p, lambda p: p.replace("/", "//") + "/", lambda p: p[1:], lambda p: f"/x/..{p}/y/../.")
it["mounts"] = [{"destination": spell(p), "type": "bind", "source": "/evil", "options": ["rbind"]}
                for p in sorted(places, reverse=True) for spell in spellings]
json.dump(it, open(config, "w"))
PY
cat >"$work/covered" <<'PY'
import json, os, sys
mounts = json.load(open(sys.argv[1]))["mounts"]
clean = lambda m: os.path.normpath("/" + m["destination"].lstrip("/"))
ours = [i for i, m in enumerate(mounts) if m["source"] != "/evil"]
bad = [f'{mounts[j]["destination"]} over {mounts[i]["destination"]}' for i in ours for j in range(i + 1, len(mounts))
       if mounts[j]["source"] == "/evil" and (clean(mounts[i]) + "/").startswith(clean(mounts[j]).rstrip("/") + "/")]
print(len(ours), bad)
PY
bundle NVIDIA_VISIBLE_DEVICES=0
python3 "$work/cover" "$config" "$work/devices.json"
run 0 on_node "$work/bin/nvidia-container-runtime" create --bundle "$work/bundle" box
forwarded
read -r count covered < <(python3 "$work/covered" "$config")
[ "$count" -gt 5 ] && [ "$covered" = "[]" ] || fail "$count mounts of ours, covered: $covered"

# The prestart hook, in an image whose directories lead to the host in every way that links can.
hostile_image() {
  rm -rf "$rootfs" && mkdir -p "$rootfs"/{etc,proc,dev,usr,var,lib,tmp}
  local to=$1 name
  for name in usr/lib64 usr/bin usr/lib etc/ld.so.conf.d etc/nvidia var/run run lib/firmware tmp/nvidia-mps; do
    ln -s "$to" "$rootfs/$name"
  done
}
container NVIDIA_VISIBLE_DEVICES=0 NVIDIA_DRIVER_CAPABILITIES=all
for to in "$work/host" "../../../../../../../../../..$work/host" "/proc/self/root$work/host"; do
  hostile_image "$to"
  # The bait: who goes by the path is on the host.
  [ "$(cat "$rootfs/usr/bin/secret")" = secret ] || fail "the link leads nowhere: the test shows nothing"
  status=0
  prestart_then 'awk -v root="$rootfs" "index(\$5, root) == 1 && \$5 != root { print \$4, \$5 }" <(inside cat /proc/self/mountinfo)' >"$work/out" 2>"$work/err" || status=$?
  same "$to"
  case $to in
    /proc/*) [ "$status" = 1 ] && complains "error: " || fail "a link of procfs was followed" ;;
    *) [ "$status" = 0 ] && shows "$rootfs$work/host/" || fail "exit status $status" ;;
  esac
  if grep "^[^ ]*/bundle/rootfs" "$work/out"; then fail "something of the image is mounted"; fi
done
# Files that are links: nothing is mounted over them.
hostile_image /elsewhere
rm "$rootfs/usr/bin" && mkdir "$rootfs/usr/bin" && ln -s "$work/host/secret" "$rootfs/usr/bin/nvidia-smi"
run 1 prestart
complains "/usr/bin/nvidia-smi in $rootfs is a link: nothing is mounted over it"
same "a file"
