#!/usr/bin/env bash
# A device node that bears a GPU's name and is another device is handed to nobody: the agent leaves the GPU out of its
# files and says why, and has it again when its node is right.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up mixed
agent_on=(partita-sim run --node "$node" --)
spec=$PARTITA_CDI_DIR/nvidia.yaml
start_agent it
await it READY=1
grep -q "path: /dev/nvidia1$" "$spec" || fail "no GPU 1 in $(cat "$spec")"

on_node rm /dev/nvidia1
on_node mknod -m 666 /dev/nvidia1 c 1 5
until_logged it "/dev/nvidia1 is device 1:5, not the driver's 195:1, which GPU 1 needs"
grep -q "path: /dev/nvidia1$" "$spec" && fail "it is handed out"
grep -q "major: 1$" "$spec" && fail "a device of somebody else is handed out"
on_node rm /dev/nvidia1
on_node mknod -m 666 /dev/nvidia1 c 195 1
until_true grep -q "path: /dev/nvidia1$" "$spec"
