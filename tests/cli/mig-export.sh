#!/usr/bin/env bash
# What is exported is a configuration that asserts on the same node; so is every generated one.
source "$(dirname "$0")/common.sh"

up mixed
on_node nvidia-smi -i 2 -mig 1 >/dev/null
on_node nvidia-smi -r -i 2 >/dev/null
on_node nvidia-smi mig -i 2 -cgi 9,14 -C >/dev/null
run 0 on_node partita mig export -l now
cp "$work/out" "$work/mig.yaml"
shows "version: v1" "  now:" 'device-filter: "0x20B010DE"' "devices: all" "2g.10gb: 1" "3g.20gb: 1"
run 0 on_node partita mig assert -f "$work/mig.yaml"
run 0 on_node partita mig export -o json
shows '"mig-configs"' '"current"'
run 0 on_node partita mig generate-config
shows "all-balanced" 'device-filter: "0x20B010DE"' "1g.5gb+me: 1"
cp "$work/out" "$work/all.yaml"
run 0 on_node partita mig validate -f "$work/all.yaml"
shows "all-disabled: valid for 1 GPU" "all-1g.5gb: valid for 1 GPU"
