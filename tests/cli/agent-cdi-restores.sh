#!/usr/bin/env bash
# What somebody removes from the agent's CDI files, or writes over them, is there again with the next look; a file that
# collides is told.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
spec=$PARTITA_CDI_DIR/nvidia.yaml
devices=$PARTITA_RUN_DIR/devices.json
start_agent it
await it READY=1
cp "$spec" "$work/spec"
# again: looks are taken until both files are as they were.
again() {
  until_true cmp -s "$spec" "$work/spec"
  until_true grep -qs '"apiVersion": "partita.dev/devices/v1"' "$devices"
}
rm "$spec"
again
echo garbage >"$spec"
again
rm -r "$PARTITA_CDI_DIR"
again
rm "$devices"
again
logged it "somebody changed CDI files"

cp "$work/spec" "$PARTITA_CDI_DIR/other.yaml"
# A look that comes while files are written judges those.
collision_told() {
  run 0 on_node partita status
  grep -qF "$PARTITA_CDI_DIR/other.yaml defines devices of nvidia.com/gpu too" "$work/it.log"
}
until_true collision_told
page /readyz
shows "other.yaml defines devices"
