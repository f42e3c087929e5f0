#!/usr/bin/env bash
# Another tool's file that defines the same devices: ours is not written, since nobody could use either, and it is
# told by name; ours comes when the other is gone.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
run 0 on_node partita cdi generate "$PARTITA_CDI_DIR/other.json"
start_agent it
await it READY=1
logged it "CDI files are not up to date" "$PARTITA_CDI_DIR/other.json defines devices of nvidia.com/gpu too"
[ ! -e "$PARTITA_CDI_DIR/nvidia.yaml" ] || fail "it was written all the same: $(ls "$PARTITA_CDI_DIR")"
page /readyz
shows 200 "other.json defines devices"
rm "$PARTITA_CDI_DIR/other.json"
run 0 on_node partita mig apply --want 7g.141gb
until_logged it "CDI files are up to date again"
# The file that comes first may be of the GPU as it was before.
until_true grep -q '    - name: "0:0"' "$PARTITA_CDI_DIR/nvidia.yaml"
