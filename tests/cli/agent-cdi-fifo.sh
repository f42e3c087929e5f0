#!/usr/bin/env bash
# A pipe in the place of a CDI file is told, not waited for, and SIGTERM ends the agent; ours comes when it is gone.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
spec=$PARTITA_CDI_DIR/nvidia.yaml
mkdir -p "$PARTITA_CDI_DIR" "$PARTITA_RUN_DIR"
mkfifo "$spec"
start_agent it
await it READY=1
logged it "CDI files are not up to date" "$spec is no regular file"
page /readyz
shows 200 "$spec is no regular file"
rm "$spec"
run 0 on_node partita mig apply --want 7g.141gb
until_logged it "CDI files are up to date again"

# While it runs, and in the place of what partita-hook reads.
rm "$spec" "$PARTITA_RUN_DIR/devices.json"
mkfifo "$spec" "$PARTITA_RUN_DIR/devices.json"
run 0 on_node partita mig apply --want 3g.71gb
until_logged it "$spec is no regular file" 2
rm "$spec"
run 0 on_node partita status
until_logged it "$PARTITA_RUN_DIR/devices.json is no regular file"
kill "${agent[it]}"
ended it 0
logged it "agent stopped"
