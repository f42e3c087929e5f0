#!/usr/bin/env bash
# gpu-feature-discovery: what ends it with status 1, what it goes on from, what it says about what it does not serve.
source "$(dirname "$0")/common.sh"

up h200-vm
mkdir "$work/bin"
ln -s "$(command -v partita)" "$work/bin/gpu-feature-discovery"
gfd=(partita-sim run --node "$node" -- "$work/bin/gpu-feature-discovery" --oneshot)
once=("${gfd[@]}" --use-node-feature-api=false -o "")

# An unknown MIG strategy matters where there is something to label.
run 1 "${once[@]}" --mig-strategy bogus
complains '--mig-strategy: expected none, single or mixed, not "bogus"'
silent out
run 1 env MIG_STRATEGY=bogus "${once[@]}"
complains MIG_STRATEGY
run 0 partita-sim driver unload --node "$node"
run 1 "${once[@]}"
complains driver
silent out
run 0 "${once[@]}" --fail-on-init-error=false --mig-strategy bogus
complains "warning: " "labels tell no GPU"
shows nvidia.com/gfd.timestamp= nvidia.com/vgpu.present=false
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "labels without a driver"
run 0 partita-sim driver load --node "$node"

# The NodeFeature object is the default, and needs an API server.
run 1 "${gfd[@]}" -o ""
complains "which is not named" "--node-name"
run 1 env NODE_NAME=gpu-1 GFD_USE_NODE_FEATURE_API=true "${gfd[@]}" -o ""
complains "--use-node-feature-api=false"
silent out

run 1 "${once[@]}" --output-file "$work/absent/gfd"
complains "$work/absent"
run 1 "${once[@]}" --sleep-interval 5
complains "--sleep-interval: expected a duration" "60s"
run 1 "${once[@]}" --device-discovery-strategy tegra
complains "is not served"
run 1 "${once[@]}" --bogus
complains "flag provided but not defined: -bogus"
shows "--oneshot"
echo "flags: {gfd: {sleepInterval: 5}}" >"$work/v1.yaml"
run 1 "${once[@]}" --config-file "$work/v1.yaml"
complains "v1.yaml:1:30"
run 0 "${gfd[@]}" --help
shows --sleep-interval GFD_OUTPUT_FILE --machine-type-file "print the labels of this node"
run 0 "${gfd[@]}" --version
shows "gpu-feature-discovery version 0.20.0"
