#!/usr/bin/env bash
# Every manifest of the user documents is answered, on a node that is not there: with the devices that its slide shows,
# or with the reason and the line.
source "$(dirname "$0")/common.sh"

unset PARTITA_CONFIG_FILE
cd "$source_root/tests/data/manifests"
cat >"$work/renamed.yaml" <<'YAML'
version: v1
flags: {migStrategy: mixed}
sharing:
  timeSlicing:
    renameByDefault: true
    resources:
    - {name: nvidia.com/gpu, replicas: 10, devices: [0]}
    - {name: nvidia.com/mig-1g.5gb, replicas: 10, devices: 1}
YAML

# answer STATUS MANIFEST TEXT…: on four whole A100s and four divided ones, GPU 0 and one slice of them shared.
answer() {
  local status=$1 manifest=$2
  shift 2
  run "$status" partita explain --width 200 -f "$manifest.yaml" -m "A100-SXM4-40GB x4" \
    -m "A100-SXM4-40GB x4 = 1g.5gb:2,2g.10gb,3g.20gb" --config "$work/renamed.yaml"
  [ "$#" -eq 0 ] || shows "$@"
  answered+=" $manifest "
}
# refuses MANIFEST TEXT…: it is no manifest.
refuses() {
  local manifest=$1
  shift
  run 2 partita explain --width 200 -f "$manifest.yaml" -m T4
  silent out
  complains "$manifest.yaml" "$@"
  answered+=" $manifest "
}
answered=""
old_names=("nvidia.com/cuda.runtime-version.full, which replaced it" "nvidia.com/cuda.driver-version.full, which replaced it"
  "here it is NVIDIA-A100-SXM4-40GB")

answer 0 two-gpus "2 × nvidia.com/gpu" "1 █"
answer 0 command-two-gpus "2 × nvidia.com/gpu"
answer 0 host-ipc-gpu "1 × nvidia.com/gpu"
answer 0 host-ipc-slice "1 × nvidia.com/mig-1g.5gb" "4.8 GiB" "14 SMs"
answer 0 time-slicing "Pod dcgmproftester-1" "Pod dcgmproftester-2"
answer 3 two-gpus-on-product "11.4 is no text to YAML" "write \"11.4\"" "${old_names[@]}"
answer 3 four-gpus-on-product "11.0 is no text to YAML" "${old_names[@]}"
answer 3 selector-in-container "nodeSelector is a field of the pod, not of a container" "${old_names[@]}"
answer 3 slice-on-product "1 × nvidia.com/mig-1g.5gb" "${old_names[@]}"
answer 3 shared-gpu "1 × nvidia.com/gpu.shared" "share 1 of 10" "a share is a turn on the device" "${old_names[@]}"
answer 3 shared-slice "1 × nvidia.com/mig-1g.5gb.shared" "share 1 of 10" "${old_names[@]}"
answer 3 gpu-on-product "gpu-on-product.yaml:13:29" "here it is NVIDIA-A100-SXM4-40GB"
answer 3 slice "slice.yaml:13:29" "here it is NVIDIA-A100-SXM4-40GB"
answer 3 mixed-strategy "1 × nvidia.com/mig-3g.20gb" "1 × nvidia.com/mig-2g.10gb" "1 × nvidia.com/mig-1g.5gb" \
  "1 × nvidia.com/gpu"
answer 3 single-strategy "is no value of a label" "labels have dashes: A100-PCIE-40GB-MIG-1g.5gb"
claims="claims: they are served by DRA, which this version does not serve"
answer 3 claims "claims.yaml:25:" "$claims"
answer 3 claims-resource-name "$claims"
answer 3 claim-two-containers "$claims"
answer 3 claim-two-pods "Pod gpu-example0" "Pod gpu-example1" "$claims"
answer 0 tpu-job "google.com/tpu is no resource of partita's" "of its 4 replicas 4 fit here now"
answer 0 deployment "Deployment models/serve" "warm-up (init container)" "which an init container had before" \
  "of its 3 replicas 1 fits here now" "runtimeClassName nvidia is not needed"
refuses question-mark ":12:25"
refuses claims-misplaced "duplicate key \"name\""
refuses claim-no-comma ":10:28: not YAML"
refuses virtual-machine "no Pod comes of \"VirtualMachineInstance\""

for manifest in *.yaml; do
  [[ $answered == *" ${manifest%.yaml} "* ]] || fail "nothing is said of $manifest"
done

# What the other settings of the slides say of the same pods.
run 3 partita explain --width 200 -f shared-gpu.yaml -m "A100-SXM4-40GB"
shows "nvidia.com/gpu is not shared" "renameByDefault: true"
run 3 partita explain --width 200 -f slice.yaml -m "A100-SXM4-40GB"
shows "migStrategy is none" "set flags.migStrategy to mixed, and make one"
sed 's/A100-PCIE-40GB MIG/NVIDIA-A100-SXM4-40GB-MIG-/; s/- 1g/-1g/' single-strategy.yaml >"$work/single.yaml"
echo "{version: v1, flags: {migStrategy: single}}" >"$work/single-config.yaml"
run 0 partita explain --width 200 -f "$work/single.yaml" -m dgx-a100-40 --mig all-1g.5gb --config "$work/single-config.yaml"
shows "1 × nvidia.com/gpu" "MIG device 0:0, 1g.5gb"
