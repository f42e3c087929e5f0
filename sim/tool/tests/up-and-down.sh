#!/usr/bin/env bash
# up makes a node whole or not at all; down removes it whole, and names who is in the way.
source "$(dirname "$0")/common.sh"

# What a killed up leaves is no node, and the next one clears it away.
mkdir -p "$PARTITA_SIM_DIR/.up-mixed.999999/sim"
touch "$PARTITA_SIM_DIR/.up-mixed.999999/sim/state"
run 0 partita-sim list
shows "no simulated node is up"
run 0 partita-sim up mixed
[ "$(ls -A "$PARTITA_SIM_DIR")" = mixed ] || fail "the remains are still there"
root=$PARTITA_SIM_DIR/mixed
cmp "$root/sim/node.yaml" "$source_root/data/nodes/mixed.yaml" || fail "node.yaml is another"
for library in libnvidia-ml libcuda; do
  [ "$(readlink "$root/usr/lib64/$library.so")" = "$library.so.1" ] || fail "$library.so"
  [ "$(readlink "$root/usr/lib64/$library.so.1")" = "$library.so.580.159.04" ] || fail "$library.so.1"
done
run 1 "$root/usr/bin/nvidia-debugdump"
complains "placeholder on a simulated GPU node"

# A process in the view and a workload both stand in the way.
mkfifo "$work/in"
partita-sim run -- sh -c 'echo in >"$0"; exec sleep 1000' "$work/in" &
inside=$!
kill_at_exit "$inside"
read -r _ <"$work/in"
run 4 partita-sim down
complains "take down \"mixed\": pid $inside" "runs in it" "--force"
kill "$inside"
wait "$inside" || true
sleep 1000 &
kill_at_exit $!
# Until then it is a bash.
until_true grep -qx sleep "/proc/$!/comm"
run 0 partita-sim workload start --gpu 0 --pid $!
run 4 partita-sim down
complains "held by workload 0 on GPU 0 (pid $!, sleep)"
run 4 partita-sim driver unload
run 4 partita-sim reset --gpu 0
run 4 partita-sim reboot
run 4 partita-sim set --gpu 0 pci-driver=vfio
run 0 partita-sim down --force
[ -z "$(ls -A "$PARTITA_SIM_DIR")" ] || fail "down left something behind"
kill -0 $! || fail "down ended a watched process"

# A machine of one's own, more than eight GPUs, and facts from another directory.
cp -r "$source_root/data" "$work/data"
sed -i 's/^name: .*/name: {value: Tesla T5, source: smi-listing, confidence: D}/' "$work/data/products/T4.yaml"
{
  echo 'driver: {version: 550.163.01, cuda: "12.4", open_kernel_module: false}'
  echo 'gpus:'
  for bus in 01 02 03 04 05 06 07 08 09 0a; do echo "  - {product: T4, pci: \"0000:$bus:00.0\"}"; done
} >"$work/Mine.yaml"
run 0 partita-sim up --file "$work/Mine.yaml" --data "$work/data"
shows "node mine is up: 10 GPUs, driver 550.163.01"
run 0 partita-sim run -- nvidia-smi -L
[ "$(grep -c 'Tesla T5' "$work/out")" -eq 10 ] || fail "not ten of the changed product"
[ -e "$PARTITA_SIM_DIR/mine/usr/lib64/libcuda.so.550.163.01" ] || fail "the library has another version"

# Never beside a real driver.
need_own_mounts
mkdir -p "$work/driver/nvidia"
touch "$work/driver/nvidia/version"
run 1 unshare -m sh -c 'mount --bind "$0" /proc/driver && exec partita-sim up h200-vm' "$work/driver"
complains "a real NVIDIA driver is loaded here (/proc/driver/nvidia/version exists)"
