#!/usr/bin/env bash
# The agent's file names a configuration of the device plugin, or holds one: both are judged, shown and told apart.
source "$(dirname "$0")/common.sh"
unset PARTITA_CONFIG_FILE
check=$source_root/tests/cli/check_mig_documents.py
file=$work/config.yaml
plugin=$work/plugin.yaml

printf 'version: partita/v1\ndevicePlugin: {configFile: %s}\n' "$plugin" >"$file"
run 2 partita config check -f "$file"
complains "$file:2:28: devicePlugin.configFile" "$plugin" "make the file, or take the key out"
printf 'version: v1\nsharing:\n  renameByDefault: true\n  timeSlicing:\n    resources: [{name: gpu, replicas: 4}]\n' >"$plugin"
run 0 partita config check -f "$file"
complains "warning: $plugin:3:3: unknown key \"renameByDefault\" is ignored" '  ^^^^^^^^^^^^^^^ it belongs under "sharing.timeSlicing"'
printf 'version: v1\nsharing:\n  mps: {resources: [{name: gpu, replicas: 4}]}\n' >"$plugin"
run 0 partita config check -f "$file"
silent err
printf 'version: v1\nsharing:\n  mps: {resources: [{name: gpu, replicas: 1}]}\n' >"$plugin"
run 2 partita config check -f "$file"
complains "$plugin:3:43: expected a number from 2, not \"1\""

cat >"$file" <<'YAML'
version: partita/v1
offer: {rules: [{select: {index: [2, 3]}, via: none}]}
devicePlugin:
  config:
    flags: {migStrategy: mixed}
health: {xids: {"94": event, "31": {policy: reset, clearAfter: 10m}}}
YAML
run 0 partita config check -f "$file"
silent err
run 0 partita config show --origin -f "$file"
grep -q "^devicePlugin.config.flags.migStrategy  mixed .* $file:5:26$" "$work/out" || fail "the origin within is not told"
grep -q "^health.xids.94 *event .* $file:6:17$" "$work/out" || fail "the origin of an XID is not told"
run 0 partita config show -o json -f "$file"
cp "$work/out" "$work/config.json"
run 0 python3 -B "$check" agent-config-v1 "$work/config.json"

# What is set elsewhere in the agent's configuration does nothing here, and that is told, also where it is in a file.
cat >"$plugin" <<'YAML'
version: v1
flags:
  nvidiaDriverRoot: /y
  nvidiaDevRoot: /y
  mpsRoot: /z
  plugin: {containerDriverRoot: /x}
YAML
{ printf 'version: partita/v1\ndevicePlugin:\n  config:\n' && sed 's/^/    /' "$plugin"; } >"$file"
told=('"nvidiaDriverRoot" means nothing to an agent' 'write "node.driverRoot"'
  '"nvidiaDevRoot" means nothing to an agent' 'write "node.devRoot"'
  '"mpsRoot" means nothing to an agent' '"plugin.containerDriverRoot" means nothing to an agent')
run 0 partita config check -f "$file"
complains "${told[@]}" "$file:6:7: "
printf 'version: partita/v1\ndevicePlugin: {configFile: %s}\n' "$plugin" >"$file"
run 0 partita config check -f "$file"
complains "${told[@]}" "$plugin:3:3: "
# What is as it is without it is nobody's mistake.
printf 'version: v1\nflags: {nvidiaDriverRoot: /, nvidiaDevRoot: "", plugin: {containerDriverRoot: /driver-root}}\n' >"$plugin"
run 0 partita config check -f "$file"
silent err

# Sizes of shares are ours: told where another program may read the file, and shown as they are.
printf 'version: v1\nsharing:\n  mps:\n    resources:\n    - {name: gpu, shares: [{name: small, replicas: 2, memory: 8192Mi, threads: 10}]}\n' >"$plugin"
printf 'version: partita/v1\ndevicePlugin: {configFile: %s}\n' "$plugin" >"$file"
run 0 partita config check -f "$file"
complains "warning: $plugin:5:19: \"shares\" is partita's extension" "NVIDIA's device plugin refuses a resource without \"replicas\""
{ printf 'version: partita/v1\ndevicePlugin:\n  config:\n' && sed 's/^/    /' "$plugin"; } >"$file"
run 0 partita config check -f "$file"
silent err
run 0 partita config show --origin -f "$file"
shows '"shares":[{"name":"small","replicas":2,"memory":"8Gi","threads":10}]'
sed -i 's/memory: 8192Mi/memory: 0/' "$plugin"
printf 'version: partita/v1\ndevicePlugin: {configFile: %s}\n' "$plugin" >"$file"
run 2 partita config check -f "$file"
complains "$plugin:5:63: 0 bytes are less than 1Mi, the least limit"
