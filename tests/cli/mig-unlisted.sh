#!/usr/bin/env bash
# A list of processes that this driver does not have is not an empty list: nothing goes that somebody
# may use. Status 4, the reason and what to do; what is idle for certain can still be made.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up dgx-a100-40
on_node nvidia-smi -i 4 -mig 1 >/dev/null
on_node nvidia-smi -r -i 4 >/dev/null
on_node nvidia-smi mig -i 4 -cgi 9 -C >/dev/null
run 0 on_node partita mig export
cp "$work/out" "$work/before"

for kind in Compute Graphics; do
  call=nvmlDeviceGet${kind}RunningProcesses_v2
  partita-sim fault call "$call" --node "$node" --gpu 4 --fail FUNCTION_NOT_FOUND >/dev/null
  for want in off none 7g.40gb; do
    run 4 on_node partita mig plan --gpu 4 --want "$want" --width 200
    shows "who uses it cannot be read" "$call" "fuser -v /dev/nvidia4" "plan: blocked"
    run 4 on_node partita mig plan --gpu 4 --want "$want" -o json
    shows '"blocked": true' '"holdersUnknown": {' "$call"
    complains "GPU 4: who uses it cannot be read" "$call"
    run 4 on_node partita mig apply --gpu 4 --want "$want" --yes
  done
  run 0 on_node partita mig show --gpu 4 --width 200
  shows "who uses it cannot be read" "$call"
  run 0 on_node partita mig show --gpu 4 -o json
  shows '"holdersUnknown": {' "$call"
  run 0 on_node partita status --width 200
  shows "who uses it cannot be read" "$call"
  run 0 on_node partita status -o json
  shows '"processesUnknown": {' "$call"
  run 0 on_node partita mig export
  cmp "$work/before" "$work/out" || fail "something was changed"
  # Beside what is there, something can be made: it ends nobody's work.
  run 0 on_node partita mig apply --gpu 4 --want 3g.20gb,2g.10gb --yes
  partita-sim fault clear --node "$node" --all >/dev/null
  run 0 on_node partita mig apply --gpu 4 --want 3g.20gb --yes
done

# The same where the library has none of the names that a list had over time.
run 0 on_node partita mig export
cp "$work/out" "$work/before"
for kind in Compute Graphics; do
  library=$work/$kind/libnvidia-ml.so.1
  mkdir "$work/$kind"
  on_node cp /run/partita-sim/usr/lib64/libnvidia-ml.so.1 "$library"
  LC_ALL=C sed -i "s/nvmlDeviceGet${kind}RunningProcesses/nvmlDeviceGot${kind}RunningProcesses/g" "$library"
  for want in off none 7g.40gb; do
    run 4 on_node partita mig plan --gpu 4 --want "$want" --width 200 --library "$library"
    shows "who uses it cannot be read" "nvmlDeviceGet${kind}RunningProcesses_v2" "fuser -v /dev/nvidia4" "plan: blocked"
    run 4 on_node partita mig apply --gpu 4 --want "$want" --yes --library "$library"
  done
  run 0 on_node partita mig export
  cmp "$work/before" "$work/out" || fail "something was changed under a library that lacks a list"
done

# MPS clients are in the list of compute processes too: without a list of their own nobody is missed.
partita-sim fault call nvmlDeviceGetMPSComputeRunningProcesses_v2 --node "$node" --gpu 4 \
  --fail FUNCTION_NOT_FOUND >/dev/null
run 0 on_node partita mig apply --gpu 4 --want none --yes

# On Hopper a mode changes at once: not under somebody of whom nobody knows.
up h200-vm
for fault in UNKNOWN FUNCTION_NOT_FOUND; do
  partita-sim fault call nvmlDeviceGetComputeRunningProcesses_v2 --node "$node" --gpu 0 --fail "$fault" >/dev/null
  run 4 on_node partita mig apply --want 1g.18gb --yes --width 200
  shows "who uses it cannot be read"
  run 0 on_node partita mig show
  shows "MIG off"
  partita-sim fault clear --node "$node" --all >/dev/null
done
run 0 on_node partita mig apply --want 1g.18gb --yes
