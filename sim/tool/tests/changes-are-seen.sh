#!/usr/bin/env bash
# What set, fault, clock, reset, driver and reboot do is what another process sees through NVML.
source "$(dirname "$0")/common.sh"

ask() { partita-sim run --node "$1" -- nvidia-smi --query-gpu="$2" --format=csv,noheader,nounits; }
mig() { ask "$1" mig.mode.current | head -1; }

run 0 partita-sim up dgx-a100-40 --node dgx
run 0 partita-sim up hgx-h200 --node hgx

run 0 partita-sim set --node dgx --gpu 0 temperature=91 power=390.5W utilization=77
[ "$(ask dgx temperature.gpu,power.draw,utilization.gpu | head -1)" = "91, 390.50, 77" ] ||
  fail "the readings are $(ask dgx temperature.gpu,power.draw,utilization.gpu | head -1)"
run 0 partita-sim unset --node dgx --gpu 0 temperature power utilization
[ "$(ask dgx temperature.gpu | head -1)" -lt 60 ] || fail "the temperature is still set"
run 0 partita-sim set --node dgx --gpu 1 compute-mode=exclusive-process
[ "$(ask dgx compute_mode | sed -n 2p)" = Exclusive_Process ] || fail "the compute mode is not seen"

# The clock: what stands does not move, and time that passes is counted.
run 0 partita-sim clock freeze --node dgx
first=$(partita-sim clock show --node dgx --output json)
[ "$(partita-sim clock show --node dgx --output json)" = "$first" ] || fail "a frozen clock moved"
run 0 partita-sim clock advance --node dgx 1h30m
now=$(partita-sim clock show --node dgx --output json | grep -o '"now_ns": [0-9]*' | cut -d' ' -f2)
then=$(grep -o '"now_ns": [0-9]*' <<<"$first" | cut -d' ' -f2)
[ $((now - then)) -eq $((5400 * 1000000000)) ] || fail "the clock advanced by $((now - then)) ns"
run 0 partita-sim clock run --node dgx

# Faults begin and end.
run 0 partita-sim fault lost --node dgx --gpu 3
run 0 partita-sim fault list --node dgx
shows "lost" "3"
partita-sim run --node dgx -- nvidia-smi -L >"$work/out" 2>&1 || true
grep -q 'GPU is lost' "$work/out" || fail "a lost GPU answers as before"
run 0 partita-sim fault clear --node dgx --gpu 3
run 0 partita-sim run --node dgx -- nvidia-smi -L
[ "$(wc -l <"$work/out")" -eq 8 ] || fail "the GPU did not come back"
run 0 partita-sim fault call nvmlSystemGetDriverVersion --fail UNKNOWN --times 1 --node dgx
shows "fault 1"
run 0 partita-sim fault clear --node dgx --all
run 0 partita-sim fault list --node dgx
shows "no fault"
run 0 partita-sim fault version-mismatch --node dgx
partita-sim run --node dgx -- nvidia-smi -L >"$work/out" 2>&1 && fail "the version mismatch is not seen"
grep -q "Driver/library version mismatch" "$work/out" || fail "another error than the mismatch"
run 0 partita-sim fault clear --node dgx --all

# Without a driver nothing answers; with it again everything does.
run 0 partita-sim driver unload --node dgx
partita-sim run --node dgx -- nvidia-smi -L >"$work/out" 2>&1 && fail "an unloaded driver answers"
run 0 partita-sim driver load --node dgx
run 0 partita-sim run --node dgx -- nvidia-smi -L

# MIG mode: pending until a reset before Hopper, and kept over a boot; lost with the driver after.
partita-sim run --node dgx -- nvidia-smi -i 0 -mig 1 >/dev/null 2>&1 || true
[ "$(mig dgx)" = Disabled ] || fail "the mode of an A100 changed without a reset"
run 0 partita-sim reset --node dgx --gpu 0
[ "$(mig dgx)" = Enabled ] || fail "the reset did not make the pending mode current"
partita-sim run --node hgx -- nvidia-smi -i 0 -mig 1 >/dev/null
[ "$(mig hgx)" = Enabled ] || fail "the mode of an H200 is not immediate"
boot=$(state dgx | grep '"id": "........-')
for node in dgx hgx; do run 0 partita-sim reboot --node "$node"; done
[ "$(mig dgx)" = Enabled ] || fail "an A100 forgot its mode over a boot"
[ "$(mig hgx)" = Disabled ] || fail "an H200 kept its mode over a boot"
[ "$(state dgx | grep '"id": "........-')" != "$boot" ] || fail "the boot id is the same"
