#!/usr/bin/env bash
# A full disk under the CDI files: the agent says so and goes on, the old file stays whole, nothing is left beside it,
# and the new one comes when there is room.
# With mounts of its own: other tests look whether the host has new ones.
if [ -z "${own_mounts:-}" ]; then own_mounts=1 exec unshare --mount "$0"; fi
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
mkdir -p "$PARTITA_CDI_DIR"
mount -t tmpfs -o size=256k tmpfs "$PARTITA_CDI_DIR"
on_exit+=("umount -l $PARTITA_CDI_DIR")
spec=$PARTITA_CDI_DIR/nvidia.yaml
start_agent it
await it READY=1
cp "$spec" "$work/old"
head -c 1000000 /dev/zero >"$PARTITA_CDI_DIR/filler" 2>/dev/null || true
run 0 on_node partita mig apply --want 7g.141gb
until_logged it "CDI files are not up to date"
logged it "No space left on device"
cmp "$work/old" "$spec" || fail "the old file is not what it was"
[ "$(ls -A "$PARTITA_CDI_DIR" | grep -c new)" = 0 ] || fail "something was left: $(ls -A "$PARTITA_CDI_DIR")"
page /readyz
shows 200 "No space left on device"
rm "$PARTITA_CDI_DIR/filler"
run 0 on_node partita mig apply --want 3g.71gb
until_logged it "CDI files are up to date again"
grep -q '    - name: "0:0"' "$spec" || fail "no file after all"
