#!/usr/bin/env bash
# `partita explain` without an agent and on nodes that are not there: what a pod gets, why another gets nothing, exit
# statuses, the document.
source "$(dirname "$0")/common.sh"

unset PARTITA_CONFIG_FILE
manifests=$source_root/tests/data/manifests
pod() {
  cat <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  containers:
  - name: main
    image: i
    resources: {limits: {$2}}
YAML
}

# Without a driver there is nothing to hold a pod against; a bad manifest is told all the same.
run 6 partita explain --width 200 -f "$manifests/two-gpus.yaml" --driver-root "$work"
silent out
run 2 partita explain --width 200 -f "$manifests/question-mark.yaml" --driver-root "$work"
complains "question-mark.yaml:12:25"
run 2 partita explain -f "$work/missing.yaml"
complains "open $work/missing.yaml: No such file or directory" "name the file of the pod with -f;"
run 2 partita explain --width 200 -f "$work/absent.yaml"
complains "absent.yaml"
run 2 partita explain
complains "--filename"

# A node that is not there.
run 0 partita explain --width 200 -f "$manifests/two-gpus.yaml" --model dgx-a100-40
shows "Pod gpu-example" "would run" "2 × nvidia.com/gpu" "0 █  1 █  2 ░" "NVIDIA A100-SXM4-40GB, 40.0 GiB" \
  "k8s.device-plugin.nvidia.com/gpu=GPU-00000000-0000-0000-0000-000000000001"
complains "this is a model"
run 3 partita explain --width 200 -f "$manifests/slice.yaml" -m "A100-SXM4-40GB x2"
shows "would not run" "slice.yaml:11:34" "migStrategy is none" "partita mig apply --gpu 0 --want 1g.5gb" \
  "it wants nvidia.com/gpu.product to be A100-PCIE-40GB; here it is NVIDIA-A100-SXM4-40GB"
run 2 partita explain --width 200 -f "$manifests/slice.yaml" -m "B9000"
complains "no product \"B9000\" is known"
run 2 partita explain --width 200 -f "$manifests/slice.yaml" --mig 1g.5gb
complains "--mig is for --model"

# By other settings: shares, and of one GPU.
cat >"$work/shares.yaml" <<'YAML'
version: v1
flags: {migStrategy: mixed}
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 4}
YAML
run 0 partita explain --width 200 -f "$manifests/time-slicing.yaml" -m T4 --config "$work/shares.yaml"
shows "Pod dcgmproftester-1" "Pod dcgmproftester-2" "0 █░░░" "0 ·█░░" "share 2 of 4" "a share is a turn on the device"
run 2 partita explain --width 200 -f "$manifests/time-slicing.yaml" -m T4 --config "$manifests/time-slicing.yaml"

# The slide of the mixed strategy: whole GPUs beside divided ones, one of each for a container.
run 3 partita explain --width 200 -f "$manifests/mixed-strategy.yaml" -m "A100-SXM4-40GB x4" \
  -m "A100-SXM4-40GB x4 = 1g.5gb:2,2g.10gb,3g.20gb" --config "$work/shares.yaml"
shows "1 × nvidia.com/mig-1g.5gb" "4:0 █" "1 × nvidia.com/mig-3g.20gb" "3g.20gb" "42 SMs"
grep -v nodeSelector "$manifests/mixed-strategy.yaml" | grep -v gpu.product >"$work/mixed.yaml"
run 0 partita explain --width 200 -f "$work/mixed.yaml" -m "A100-SXM4-40GB x4" -m "A100-SXM4-40GB x4 = 1g.5gb:2,2g.10gb,3g.20gb" \
  --config "$work/shares.yaml" -o json
by_schema explain-v1 "$work/out"

# A machine, by a look of the command's own; standard input; variables instead of CDI.
up dgx-a100-40
cat >"$work/variables.yaml" <<'YAML'
version: v1
flags: {plugin: {deviceListStrategy: envvar, passDeviceSpecs: true}}
YAML
pod two "nvidia.com/gpu: 2" >"$work/two.yaml"
run 0 on_node sh -c "partita explain --width 200 -f - --config '$work/variables.yaml' <'$work/two.yaml'"
complains "no agent was asked"
shows "NVIDIA_VISIBLE_DEVICES=GPU-" "/dev/nvidia0 rw" "/dev/nvidiactl rw" "runtime must be NVIDIA's or ours"
# Mounts that name the devices to a runtime.
sed 's/envvar, passDeviceSpecs: true/volume-mounts/' "$work/variables.yaml" >"$work/mounts.yaml"
run 0 on_node partita explain --width 200 -f "$work/two.yaml" --config "$work/mounts.yaml"
shows "mount  /dev/null on /var/run/nvidia-container-devices/GPU-" "NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"
run 0 on_node partita explain -f "$work/two.yaml" --config "$work/mounts.yaml" -o json
by_schema explain-v1 "$work/out"
shows '"hostPath": "/dev/null"' '"containerPath": "/var/run/nvidia-container-devices/GPU-' '"readOnly": false'
run 3 on_node partita explain --width 200 -f "$manifests/two-gpus-on-product.yaml" -o json
by_schema explain-v1 "$work/out"
shows '"code": "Refused"' '"code": "Label"' "nvidia.com/cuda.driver-version.full, which replaced it; here it is 580.159.04"

# A node that is kept for pods that bear with its taint.
printf 'version: partita/v1\ntaints: {enabled: true}\n' >"$work/tainted.yaml"
pod kept "nvidia.com/gpu: 1" >"$work/kept.yaml"
run 3 env PARTITA_CONFIG_FILE="$work/tainted.yaml" partita explain --width 200 -f "$work/kept.yaml" -m T4
shows "would not run" "kept.yaml:2:1" "the node's taint nvidia.com/gpu=present:NoSchedule is not tolerated" \
  "add to the pod's tolerations: {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}"
run 3 env PARTITA_CONFIG_FILE="$work/tainted.yaml" partita explain -f "$work/kept.yaml" -m T4 -o json
by_schema explain-v1 "$work/out"
shows '"code": "Taint"'
echo '  tolerations: [{key: nvidia.com/gpu, operator: Exists}]' >>"$work/kept.yaml"
run 0 env PARTITA_CONFIG_FILE="$work/tainted.yaml" partita explain --width 200 -f "$work/kept.yaml" -m T4
