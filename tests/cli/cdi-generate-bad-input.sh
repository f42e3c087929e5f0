#!/usr/bin/env bash
# What cannot be described or written is refused with its reason, and nothing that was there is lost.
source "$(dirname "$0")/common.sh"

run 6 partita cdi generate --driver-root "$work" --host-root "$work"
up h200-vm
run 2 on_node partita cdi generate --device-id ../0
complains 'identifier is not a valid UUID or index: "../0"'
run 1 on_node partita cdi generate --device-id GPU-nobody
complains "GPU-nobody: unknown device"
run 2 on_node partita cdi generate --vendor 1x
complains '--vendor "1x": not a vendor'
run 2 on_node partita cdi generate --mode csv
run 2 on_node partita cdi generate --enable-hook all
complains "--enable-hook all"
for hook in bogus apply-cuda-memory-limits; do
  run 2 on_node partita cdi generate --enable-hook $hook
  complains "--enable-hook \"$hook\": not a hook of a CDI file" "create-symlinks, disable-device-node-modification"
done
run 2 on_node partita cdi generate --disable-hook bogus
complains '--disable-hook "bogus": not a hook of a CDI file'
# The reference has it, and we never: whoever does not want it has what they want.
run 0 on_node partita cdi generate --disable-hook apply-cuda-memory-limits
mkdir "$work/no-uvm"
cp -a "$PARTITA_SIM_DIR/$node/dev" "$work/no-uvm/"
rm "$work/no-uvm/dev/nvidia-uvm"
run 0 on_node partita cdi generate --dev-root "$work/no-uvm"
complains "$work/no-uvm/dev/nvidia-uvm is missing: CUDA does not work without it"
rm "$work/no-uvm/dev/nvidiactl"
run 1 on_node partita cdi generate --dev-root "$work/no-uvm"
complains "$work/no-uvm/dev/nvidiactl is missing: no GPU can be opened without it"
run 2 on_node partita cdi generate --hook-path nvidia-cdi-hook
complains "not an absolute path"
run 2 on_node partita cdi generate --feature-flag what
complains '--feature-flag "what"'
run 2 on_node partita cdi generate --cdi-version-max 9.9.9
run 1 on_node partita cdi generate --cdi-version-max 0.3.0
run 2 on_node partita cdi generate --driver-root /run/partita-sim --library-search-path /opt
complains "/opt is not below the driver root /run/partita-sim"

# A GPU whose node is missing or another device: the driver's library does not even list it.
up mixed
for other in "" "c 1 5" "c 195 7"; do
  on_node rm -f /dev/nvidia1
  # shellcheck disable=SC2086: words
  [ -z "$other" ] || on_node mknod -m 666 /dev/nvidia1 $other
  run 1 on_node partita cdi generate
  complains "/dev/nvidia1 is" "which the GPU at" "with --best-effort"
  silent out
  run 3 on_node partita cdi generate --best-effort
  complains "/dev/nvidia1 is"
  shows "path: /dev/nvidia2"
done
node=h200-vm

# Another tool's file of the same kind.
mkdir "$work/cdi"
run 0 on_node partita cdi generate "$work/cdi/other.json"
run 1 on_node partita cdi generate "$work/cdi/nvidia.yaml"
complains "$work/cdi/other.json defines devices of nvidia.com/gpu too"
[ "$(ls "$work/cdi")" = other.json ] || fail "something was written"

# A full disk: the old file stays as it was.
mkdir "$work/full"
mount -t tmpfs -o size=16k tmpfs "$work/full"
on_exit+=("umount $work/full")
run 0 on_node partita cdi generate --disable-hook all --device-name-strategy index "$work/full/nvidia.yaml"
cp "$work/full/nvidia.yaml" "$work/old"
head -c 100000 /dev/zero >"$work/full/filler" 2>/dev/null || true
run 1 on_node partita cdi generate "$work/full/nvidia.yaml"
complains "No space left on device"
cmp "$work/full/nvidia.yaml" "$work/old" || fail "the old file is not what it was"
[ "$(ls -A "$work/full" | wc -l)" -eq 2 ] || fail "something was left: $(ls -A "$work/full")"
