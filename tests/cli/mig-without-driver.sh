#!/usr/bin/env bash
# While no driver is loaded, MIG modes of GA100 boards are changed through PCI: the registers and the
# reset file of sysfs. Other GPUs get a clear word, and nothing is changed.
source "$(dirname "$0")/common.sh"

modes() {
  partita-sim driver load --node "$node"
  run 0 on_node nvidia-smi --query-gpu=mig.mode.current --format=csv,noheader
  [ "$(sort "$work/out" | uniq -c | xargs)" = "$1" ] || fail "modes are not: $1"
}

cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  "on":
    - devices: all
      mig-enabled: true
      mig-devices: {1g.5gb: 7}
  "off":
    - devices: all
      mig-enabled: false
  two:
    - devices: [1, "0000:47:00.0"]
      mig-enabled: false
  named:
    - devices: [GPU-12345678-1234-1234-1234-123456789abc]
      mig-enabled: true
      mig-devices: {}
YAML
ask() { on_node partita mig "$1" -f "$work/mig.yaml" -c "$2" --mode-only "${@:3}"; }
parted() { on_node bash -c 'exec -a nvidia-mig-parted "$0" "$@"' "$PARTITA_BIN/partita" "$@"; }

up dgx-a100-40
partita-sim driver unload --node "$node"
run 3 ask assert on
run 0 ask apply on
shows "applied"
complains "no driver is loaded" "GPU 0: request MIG on" "GPU 7: reset through PCI"
run 0 ask assert on
run 0 ask apply on
grep -q "GPU" "$work/err" && fail "a mode that was right was changed"
modes "8 Enabled"

# Chosen GPUs, and a reset that is left to somebody else.
partita-sim driver unload --node "$node"
run 5 ask apply two --skip-reset
complains "GPU 1: request MIG off" "GPU 2: request MIG off"
run 0 ask apply two
run 3 ask assert on -o json
shows '"index": 1' '"index": 2'
modes "2 Disabled 6 Enabled"

# A request without a reset waits for one, with the driver as well.
partita-sim driver unload --node "$node"
run 5 ask apply off --skip-reset
partita-sim driver load --node "$node"
run 0 on_node nvidia-smi --query-gpu=mig.mode.current,mig.mode.pending --format=csv,noheader
[ "$(grep -c "Enabled, Disabled" "$work/out")" = 6 ] || fail "no request is pending"
partita-sim driver unload --node "$node"

# The drop-in.
run 0 parted apply -f "$work/mig.yaml" -c on --mode-only
shows "MIG configuration applied successfully"
run 0 parted assert -f "$work/mig.yaml" -c on --mode-only
run 1 parted assert -f "$work/mig.yaml" -c off --mode-only
run 1 parted apply -f "$work/mig.yaml" -c on
complains "Driver Not Loaded"

# What only a driver can do or tell.
run 6 on_node partita mig apply -f "$work/mig.yaml" -c on
complains "--mode-only"
run 2 ask apply named
complains "without the driver"
run 0 on_node partita mig apply --want off --gpu 3 --mode-only
modes "1 Disabled 7 Enabled"
[ ! -e "$PARTITA_SIM_DIR/$node/sys/bus/pci/devices/0000:07:00.0/resource0" ] || fail "registers stay"
partita-sim down --node "$node" >/dev/null

# Hopper keeps the mode in the driver.
up h200-vm
partita-sim driver unload --node "$node"
run 6 ask apply on
shows "GPU 0" "Hopper and later keep" "not applied"
run 6 ask assert on
complains "Hopper and later keep the MIG mode"
run 0 ask assert off
run 1 parted apply -f "$work/mig.yaml" -c on --mode-only
complains "Hopper and later keep the MIG mode"
partita-sim down --node "$node" >/dev/null
