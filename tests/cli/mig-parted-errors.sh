#!/usr/bin/env bash
# Under the name nvidia-mig-parted every error is told in the reference's words, with status 1;
# --exit-codes=extended tells them apart.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
parted() { on_node "$work/nvidia-mig-parted" "$@"; }

up h200-vm
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  one:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.18gb: 7}
  two:
    - devices: all
      mig-enabled: true
      mig-devices: {3g.71gb: 2, 1g.18gb: 1}
YAML
# What scripts probe with: no command is help, an unknown one has its own status.
run 0 parted
shows "Usage: nvidia-mig-parted"
run 3 parted bogus
silent out
complains "No help topic for 'bogus'"
run 0 parted -v
shows "nvidia-mig-parted version "
run 1 parted apply --bogus
complains "Unknown flag --bogus"
shows "Usage: nvidia-mig-parted apply"
run 0 parted export stray
complains 'Ignored: \"stray\"'
run 0 parted assert -valid-config -f "$work/mig.yaml" -c two
complains "level=warning" "take 9 memory slices"
run 2 parted --exit-codes=extended assert -a -f "$work/mig.yaml" -c two
cat >"$work/far.yaml" <<'YAML'
version: v1
mig-configs: {far: [{devices: [99], mig-enabled: false}]}
YAML
run 1 parted assert -f "$work/far.yaml"
complains "it names no GPU of this machine"
run 0 parted export
printf '%s\n' 'version: v1' 'mig-configs:' '  current:' '  - devices: all' '    mig-enabled: false' \
  '    mig-devices: {}' | cmp - "$work/out" || fail "other bytes than the reference's"

run 1 parted apply
complains "Missing required flags 'config-file'"
shows "Usage: nvidia-mig-parted apply"
run 1 parted apply -f "$work/mig.yaml"
complains "Error selecting MIG config: missing required flag 'selected-config' when more than one config available"
run 1 parted assert -f "$work/mig.yaml" -c three
complains "Error selecting MIG config: selected mig-config not present: three"
run 1 parted export -o xml
complains "Unrecognized 'output-format': xml"
run 1 parted apply -f "$work/mig.yaml" -c one --bogus
echo "version: v2" >"$work/bad.yaml"
run 1 parted apply -f "$work/bad.yaml"
complains "Error parsing config file: " "bad.yaml:1:10"
run 1 parted apply -f "$work/mig.yaml" -c two
complains "take 9 memory slices, and the GPU has 8"
run 2 parted --exit-codes=extended apply -f "$work/mig.yaml" -c two
run 3 parted --exit-codes=extended assert -f "$work/mig.yaml" -c one
run 6 "$work/nvidia-mig-parted" --exit-codes=extended assert -f "$work/mig.yaml" -c one
run 1 "$work/nvidia-mig-parted" assert -f "$work/mig.yaml" -c one
