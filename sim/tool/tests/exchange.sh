#!/usr/bin/env bash
# A board is exchanged while no driver is loaded; the next driver finds another model in its slot, on the bus too, and views
# that were there before see it. The old board can be put back.
source "$(dirname "$0")/common.sh"

run 0 partita-sim up dgx-a100-40 --node a
run 1 partita-sim exchange --node a --gpu 3 H100-80GB-HBM3
complains "no board is exchanged under a driver that has it" "partita-sim driver unload comes first"
before=$(state a)
list() { partita-sim run --node a -- nvidia-smi -L; }
list >"$work/listed"

# A process whose view is older than the exchange.
mkfifo "$work/ask" "$work/answer"
partita-sim run --node a -- sh -c 'while read -r command; do eval "$command" 2>&1; echo end; done' <"$work/ask" >"$work/answer" &
kill_at_exit $!
exec {ask}>"$work/ask" {answer}<"$work/answer"
in_view() {
  echo "$1" >&"$ask"
  while IFS= read -r -t 30 line <&"$answer" && [ "$line" != end ]; do echo "$line"; done
}
device=/sys/bus/pci/devices/0000:4e:00.0
[ "$(in_view "cat $device/device")" = 0x20b0 ] || fail "no A100 on the bus"

run 0 partita-sim fault call nvmlDeviceGetName --fail UNKNOWN --gpu 3 --node a
run 0 partita-sim driver unload --node a
run 2 partita-sim exchange --node a --gpu 3,4 H100-80GB-HBM3
complains "2 GPUs: one board is exchanged at a time"
run 2 partita-sim exchange --node a --gpu 3 H1000
complains 'GPU 3: unknown product "H1000"'
run 0 partita-sim exchange --node a --gpu 3 H100-80GB-HBM3
shows "GPU 3 of node a: NVIDIA H100 80GB HBM3 instead of NVIDIA A100-SXM4-40GB, GPU-"
uuid=$(grep -oE 'GPU-[0-9a-f-]+' "$work/out")
[ "$(in_view "cat $device/device")" = 0x2330 ] || fail "the bus shows $(in_view "cat $device/device")"
# Registers, of the new chip.
[ "$(od -An -tx4 -N 4 "$PARTITA_SIM_DIR/a$device/resource0" | xargs)" = 180000a1 ] || fail "registers of another chip"
list >"$work/out" 2>&1 && fail "the driver came by itself"

run 0 partita-sim driver load --node a
list >"$work/out"
grep -qF "GPU 3: NVIDIA H100 80GB HBM3 (UUID: $uuid)" "$work/out" || fail "no H100"
diff <(sed 4d "$work/listed") <(sed 4d "$work/out") || fail "other boards are not what they were"
[ "$(in_view "nvidia-smi -L")" = "$(cat "$work/out")" ] || fail "the older view lists other GPUs"
grep -qE '^Model:[[:space:]]+NVIDIA H100 80GB HBM3$' "$PARTITA_SIM_DIR/a/proc/driver/nvidia/gpus/0000:4e:00.0/information" || fail "/proc"
run 0 partita-sim fault list --node a
shows "no fault"
run 0 partita-sim run --node a -- nvidia-smi -i 3 -mig 1  # at once, which an A100 of this node does not
[ "$(partita-sim run --node a -- nvidia-smi -i 3 --query-gpu=mig.mode.current --format=csv,noheader)" = Enabled ] || fail "no MIG"

# Back in place: the same node, but for what every load of a driver changes.
was() { python3 -c 'import json, sys
gpu = json.loads(sys.argv[1])["gpus"][3]
print(gpu[sys.argv[2]])' "$before" "$1"; }
run 0 partita-sim driver unload --node a
run 0 partita-sim exchange --node a --gpu 3 A100-SXM4-40GB --uuid "$(was uuid)" --serial "$(was serial)"
run 0 partita-sim driver load --node a
list >"$work/out"
diff "$work/listed" "$work/out" || fail "the old board is not what it was"
run 0 partita-sim set --node a --gpu all persistence=on
diff <(python3 -c 'import json, sys; print(json.dumps(json.loads(sys.argv[1])["gpus"], indent=1))' "$before") \
  <(python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["gpus"], indent=1))' < <(state a)) || fail "something is left of the other board"
exec {ask}>&-
run 0 partita-sim driver unload --node a
run 0 partita-sim down --node a --force
