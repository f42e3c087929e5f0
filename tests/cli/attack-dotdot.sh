#!/usr/bin/env bash
# ".." in everything that is a path, or becomes one: what counts below a container's root stays below it, a name with
# ".." names nothing, and what is a path of the host is that path, however it is spelt. Nothing beside the container
# is made or changed.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/runtime_common.sh"
source "$(dirname "$0")/hook_common.sh"
up h200-vm
mkdir -p "$work/host/nvidia" "$rootfs/usr/lib"
echo secret >"$work/host/secret"
chmod 700 "$work/host"
away=../../../../../../../../../../../..
up=/$away$work/host
touch "$work"/{out,err,has,before}
cp "$work/state" "$work/state.good"
seen() { find "$work/host" -printf '%p %m %s %l\n' && ls -A / "$work" "$bundle"; }
# The bait: a path that is joined and not resolved leads there.
[ "$(cat "$rootfs$up/secret")" = secret ] || fail "the way out is none: the test shows nothing"
before=$(seen)
same() { [ "$before" = "$(seen)" ] || { diff <(echo "$before") <(seen) >&2 || true; fail "something was made or changed: $row"; }; }
inside() { [ -e "$rootfs$work/host/$1" ] || [ -L "$rootfs$work/host/$1" ] || fail "not below the root: $row"; }

# Hooks. STATUS | WHAT IT SAYS | WORDS
while IFS='|' read -r status says words; do
  row=$words
  # shellcheck disable=SC2086: words
  run "$status" hook $words
  [ -z "$says" ] && silent err || complains "$says"
  same
done <<ROWS
0||create-symlinks --link x::$up/made
0||create-symlinks --link x::$away$work/host/deep/made
0||create-symlinks --link $up/secret::/usr/lib/out
0||chmod --mode 755 --path $up
0||chmod --mode 755 --path /usr/lib/$away$work/host/secret
0||enable-cuda-compat --host-driver-version=550.1 --cuda-compat-container-root $up
0|is no version|enable-cuda-compat --host-driver-version=../../550
0|is no version|enable-cuda-compat --host-cuda-version=../12
0||update-ldcache --folder $up
1|is no folder for the loader|update-ldcache --folder ..
0|its cache is not|update-ldcache --folder /opt --ldconfig-path $up/../nothing
0||update-application-profile
1|No such file|create-symlinks --link a::/b --container-spec $up/none
0|there is no hook|../create-symlinks --link x::/made
ROWS
inside made
inside deep/made
grep -qx "$up" "$rootfs"/etc/ld.so.conf.d/00-nvcr-*.conf || fail "the folder is not what was said"
[ "$(readlink "$rootfs/usr/lib/out")" = "$up/secret" ] || fail "the link is not what was said"

# The container's root, in the state and in config.json.
for path in "$rootfs/$away" "/$away" "$bundle/$away/"; do
  echo "{\"root\":\"$path\"}" >"$work/state"
  row="root $path"
  run 1 hook create-symlinks --link x::/made
  complains "is the host's"
  same
done
echo "{\"bundle\":\"$bundle/../bundle\"}" >"$work/state"
for path in $away ../$away /$away rootfs/$away; do
  echo "{\"root\":{\"path\":\"$path\"}}" >"$bundle/config.json"
  row="root.path $path"
  run 1 hook create-symlinks --link x::/made
  complains "is the host's"
  same
done
echo '{"root":{"path":"../bundle/rootfs"}}' >"$bundle/config.json"
run 0 hook create-symlinks --link x::/again
[ -L "$rootfs/again" ] || fail "a root with .. is that directory"
cp "$work/state.good" "$work/state"

# Requests: by variable, mount and annotation, in every mode.
on_node partita cdi generate "$work/cdi/nvidia.yaml"
create() { on_node "$work/bin/nvidia-container-runtime" create --bundle "${BUNDLE:-$bundle}" box; }
refuses() {
  row="$*"
  run 1 create
  complains "nvidia-container-runtime: error: "
  refused
  same
}
modes() { printf '%s\n[nvidia-container-runtime]\nmode = "%s"\n[nvidia-container-runtime.modes.cdi]\nspec-dirs = ["%s"]\n' "${2:-}" "$1" "$work/cdi/../cdi" >"$NVIDIA_CTK_CONFIG_FILE_PATH"; }
before=$(seen)
for mode in cdi jit-cdi; do
  for id in ../0 0/../0 ../../etc GPU-../x MIG-../x MIG-GPU-../../x/1/0 nvidia.com/gpu=../0 ../nvidia.com/gpu=0 \
    nvidia.com/../gpu=0 runtime.nvidia.com/gpu=../0 ../0000:00:00.0; do
    modes "$mode"
    bundle "NVIDIA_VISIBLE_DEVICES=$id"
    refuses "$mode: NVIDIA_VISIBLE_DEVICES=$id"
  done
done
for id in ../0 nvidia.com/gpu=../0 ../../x=0 nvidia.com/gpu=0/../1; do
  modes cdi
  MORE=",\"annotations\":{\"cdi.k8s.io/../x\":\"$id\"}" bundle
  refuses "annotation $id"
done
modes jit-cdi
for entry in NVIDIA_IMEX_CHANNELS=../0 NVIDIA_MIG_CONFIG_DEVICES=../all NVIDIA_MIG_MONITOR_DEVICES=../../all; do
  bundle NVIDIA_VISIBLE_DEVICES=0 "$entry"
  refuses "$entry"
done
# A mount that leads elsewhere is no request: the container is forwarded as it is.
for below in ../../etc .. 0/../../x cdi/../nvidia.com/gpu=0 cdi/nvidia.com/gpu/../0 imex/../0; do
  modes jit-cdi 'accept-nvidia-visible-devices-as-volume-mounts = true'
  MORE=",\"mounts\":[{\"destination\":\"/var/run/nvidia-container-devices/$below\",\"source\":\"/dev/null\"}]" bundle
  row="mount $below"
  run 0 create
  forwarded
  untouched
  complains "asks for no device: it is ignored"
done

# The bundle by another spelling is the same bundle.
bundle NVIDIA_VISIBLE_DEVICES=0
modes jit-cdi
BUNDLE=$bundle/rootfs/../../bundle run 0 create
has "$nodes" "/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidiactl"
bundle NVIDIA_VISIBLE_DEVICES=0
BUNDLE=$bundle/rootfs/$away run 1 create
complains "error reading OCI specification: "
# Directories and programs of the configuration: none from where the container is.
for line in 'nvidia-container-cli.root = "../driver"' 'nvidia-container-runtime.modes.cdi.spec-dirs = ["../cdi"]'; do
  echo "$line" >"$NVIDIA_CTK_CONFIG_FILE_PATH"
  bundle NVIDIA_VISIBLE_DEVICES=0
  row=$line
  run 1 create
  complains "is not an absolute path"
  refused
done
cp "$work/bin/runc" "$bundle/runc"
for path in ./runc ../bundle/runc; do
  printf 'nvidia-container-runtime.runtimes = ["%s"]\n' "$path" >"$NVIDIA_CTK_CONFIG_FILE_PATH"
  (cd "$bundle" && run 1 create && complains "\"$path\" is not an absolute path") || exit 1
done
rm "$bundle/runc"

# A CDI file of somebody else's: its paths of the host are absolute, and no spelling of a path in the container puts
# another mount over it.
spec() { printf '{"cdiVersion":"0.7.0","kind":"a.com/b","devices":[{"name":"c","containerEdits":{%s}}]}\n' "$1" >"$work/cdi/other.json"; }
modes cdi
while IFS='|' read -r says edits; do
  spec "$edits"
  bundle NVIDIA_VISIBLE_DEVICES=a.com/b=c
  refuses "$edits"
  complains "$says"
done <<'ROWS'
is not absolute|"hooks":[{"hookName":"createContainer","path":"../evil","env":["A=b"]}]
is not absolute|"hooks":[{"hookName":"createContainer","path":"usr/bin/evil","env":["A=b"]}]
is not absolute|"mounts":[{"hostPath":"../rootfs/etc","containerPath":"/x","options":["rbind"]}]
is not absolute|"mounts":[{"hostPath":"rootfs/etc","containerPath":"/x","options":["ro","bind"]}]
failed to stat CDI host device|"deviceNodes":[{"path":"/dev/../dev/no-such-node"}]
failed to stat CDI host device|"deviceNodes":[{"path":"/dev/x","hostPath":"/dev/../etc/passwd"}]
ROWS
spec '"mounts":[{"hostPath":"/usr/../usr/lib","containerPath":"/a/../opt/driver","options":["ro","rbind"]}]'
MORE=',"mounts":[{"destination":"/opt/x/../driver/","source":"/evil","options":["bind"]}]' bundle NVIDIA_VISIBLE_DEVICES=a.com/b=c
run 0 create
has '[m["source"] for m in it["mounts"]]' "['/usr/../usr/lib']"
rm "$work/cdi/other.json"

# Commands.
refuses_command() {
  row="${*:3}"
  run "$1" on_node "${@:3}"
  complains "$2"
  silent out
}
refuses_command 2 "not a vendor" partita cdi generate --vendor ../nvidia.com
refuses_command 2 "not a class" partita cdi generate --class ../gpu
refuses_command 2 "not a valid UUID or index" partita cdi generate --device-id 0/../0
refuses_command 2 "not an absolute path" partita cdi generate --hook-path ../partita-hook
refuses_command 2 "not a valid UUID or index" partita run --gpu 0/../0 -- true
refuses_command 2 "this machine's own root" partita run --gpu 0 --image "$rootfs/$away" -- true
refuses_command 1 "no libcuda.so" partita cdi generate --driver-root "$work/host/../host" --host-root "$work/host/../host"
refuses_command 1 "dev/nvidia0 is missing" partita cdi generate --dev-root "$work/host/../host"
run 1 on_node bash -c 'exec -a nvidia-container-cli "$PARTITA_BIN/partita-hook" configure --pid $$ --compute "$0"' "$rootfs/$away"
same
# A library path with ".." counts from the driver's root, and what it finds lies below it.
run 0 on_node partita cdi generate --driver-root /run/partita-sim/../partita-sim --library-search-path "/run/partita-sim/../partita-sim/$away/usr/lib64"
if grep -E 'hostPath: .*\.\.' "$work/out" | grep -v '/run/partita-sim/\.\./partita-sim/'; then fail "a path with .. is in the file"; fi
same
