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
written=1
# again WHAT: a look is taken, and both files are as they were.
again() {
  run 0 on_node partita status
  written=$((written + 1))
  until_logged it "CDI files written" $written
  cmp "$spec" "$work/spec" || fail "$1: the CDI file is not there again"
  grep -q '"apiVersion": "partita.dev/devices/v1"' "$devices" || fail "$1: devices.json is not there again"
}
rm "$spec"
again "removed"
echo garbage >"$spec"
again "garbage"
rm -r "$PARTITA_CDI_DIR"
again "no directory"
rm "$devices"
again "no devices.json"
run 0 on_node partita status
[ "$(grep -c "CDI files written" "$work/it.log")" -eq $written ] || fail "written for nothing"

cp "$work/spec" "$PARTITA_CDI_DIR/other.yaml"
run 0 on_node partita status
until_logged it "$PARTITA_CDI_DIR/other.yaml defines devices of nvidia.com/gpu too"
page /readyz
shows "other.yaml defines devices"
