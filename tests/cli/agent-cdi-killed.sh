#!/usr/bin/env bash
# Killed at once, an agent leaves files that hold; the next one finds them as they should be and leaves them alone.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
before=$(stat -c '%i %Y %s' "$PARTITA_CDI_DIR/nvidia.yaml")
kill -9 "${agent[it]}"
ended it 137
start_agent again
await again READY=1
after=$(stat -c '%i %Y %s' "$PARTITA_CDI_DIR/nvidia.yaml")
[ "$before" = "$after" ] || fail "the file was written anew: $before, then $after"
[ "$(ls -A "$PARTITA_CDI_DIR" | xargs)" = "k8s.device-plugin.nvidia.com-gpu.json nvidia.yaml" ] || fail "something was left: $(ls -A "$PARTITA_CDI_DIR")"
