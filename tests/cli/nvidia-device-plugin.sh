#!/usr/bin/env bash
# Under the reference's name: its flags, variables and file, its defaults, its exit status; SIGHUP reads the file again,
# and a bad one changes nothing.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
source "$(dirname "$0")/device_plugin_common.sh"

up dgx-a100-40
mkdir "$work/bin"
ln -s "$(command -v partita)" "$work/bin/nvidia-device-plugin"
plugin=(partita-sim run --node "$node" -- "$work/bin/nvidia-device-plugin")
start_kubelet
cat >"$work/v1.yaml" <<'YAML'
version: v1
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 2}
YAML
# start_plugin FLAG…
start_plugin() {
  CONFIG_FILE=$work/v1.yaml "${plugin[@]}" --kubelet-socket "$kubelet/device-plugins/kubelet.sock" "$@" 2>"$work/it.log" &
  agent[it]=$!
  on_exit+=("kill -9 $!")
}
# prefers SHARE: of two free shares of the first GPU and one of the second, whose other one somebody has.
prefers() {
  run 0 speak prefer "$kubelet" nvidia.com/gpu 1 "${shares[0]},${shares[1]},${shares[3]}"
  shows "{\"ids\": [\"$1\"]}"
}
start_plugin --pass-device-specs
until_counted nvidia.com/gpu "16 of 16"
logged it '"passDeviceSpecs": true' '"replicas": 2'
id=$(ids nvidia.com/gpu | sed -n 1p)
run 0 speak allocate "$kubelet" nvidia.com/gpu "$id"
shows "\"envs\": {\"NVIDIA_VISIBLE_DEVICES\": \"${id%::*}\"}" '"cdi": []' '["/dev/nvidiactl", "/dev/nvidiactl", "rw"]'
mapfile -t shares < <(ids nvidia.com/gpu)
prefers "${shares[0]}"
[ ! -e "$PARTITA_CDI_DIR/k8s.device-plugin.nvidia.com-gpu.json" ] || fail "files of CDI that nobody asked for"

# Another file: what differs is told. A bad one: served as before.
sed -i 's/replicas: 2/replicas: 3/' "$work/v1.yaml"
kill -HUP "${agent[it]}"
until_counted nvidia.com/gpu "24 of 24"
logged it "configuration reloaded path=$work/v1.yaml"
sed -i 's/replicas: 3/replicas: 1/' "$work/v1.yaml"
kill -HUP "${agent[it]}"
until_logged it "v1.yaml:5:40"
has_counted nvidia.com/gpu "24 of 24" || fail "the bad file took something away: $(counted nvidia.com/gpu)"
kill "${agent[it]}"
ended it 0

# Flags whose effect is in the answers: another name for a device, another place of its nodes, another policy.
sed 's/replicas: 1/replicas: 2/' "$work/v1.yaml" >"$work/v2.yaml"
mkdir "$work/dev-root"
start_kubelet
start_plugin --config-file "$work/v2.yaml" --pass-device-specs --device-id-strategy index --nvidia-dev-root "$work/dev-root" \
  --shared-devices-allocation-policy packed --gds-enabled --mofed-enabled
until_counted nvidia.com/gpu "16 of 16"
run 0 speak allocate "$kubelet" nvidia.com/gpu "${shares[10]}"
shows '"envs": {"NVIDIA_GDS": "enabled", "NVIDIA_MOFED": "enabled", "NVIDIA_VISIBLE_DEVICES": "5"}' \
  "[\"/dev/nvidia5\", \"$work/dev-root/dev/nvidia5\", \"rw\"]"
prefers "${shares[3]}"
kill "${agent[it]}"
ended it 0

# At its start there is nothing before.
run 1 "${plugin[@]}" --config-file "$work/v1.yaml"
complains "v1.yaml:5:40" "replicas"
run 1 "${plugin[@]}" --mig-strategy some
complains "some"
run 0 "${plugin[@]}" --help
shows "--device-list-strategy"

run 1 "${plugin[@]}" --config-file "$work/nope.yaml"
complains "--config-file (CONFIG_FILE): open $work/nope.yaml" "name a file that is there, or leave it out"
