#!/usr/bin/env bash
# Compute instances that fragment their GPU instance: what is in use keeps its place, what is idle
# moves, and new ones are put where the others fit.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run

up dgx-a100-40
on_node nvidia-smi -i 0 -mig 1 >/dev/null
on_node nvidia-smi -r -i 0 >/dev/null
on_node nvidia-smi mig -i 0 -cgi 0 >/dev/null
# One slice each at 0 to 6; then only those at 1 and 5 are left.
on_node nvidia-smi mig -i 0 -gi 0 -cci 0,0,0,0,0,0,0 >/dev/null
on_node nvidia-smi mig -i 0 -gi 0 -ci 0,2,3,4,6 -dci >/dev/null
mkfifo "$work/started" "$work/end"
partita-sim workload start --node "$node" --gpu 0 --mig 0:5 --memory 1GiB -- \
  sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
read -r pid <"$work/started"
on_exit+=("kill $pid 2>/dev/null")

places() {
  on_node partita status --gpu 0 -o json | python3 -c '
import json, sys
[gpu] = json.load(sys.stdin)["gpus"]
[instance] = gpu["mig"]["gpuInstances"]
print(" ".join(sorted("{start}+{size}".format(**c["placement"]) for c in instance["computeInstances"])))'
}
[ "$(places)" = "1+1 5+1" ] || fail "another start: $(places)"

# Two of two slices start at 0, 2 or 4: one of them where the idle one is.
run 0 on_node partita mig plan --gpu 0 --want 2c.7g.40gb:2,1c.7g.40gb:2
shows "destroy compute instance 1 of 7g.40gb at slice 0" "create a compute instance of 2 slices (0-1)" \
  "create a compute instance of 2 slices (2-3)" "create a compute instance of 1 slice (4)"
run 0 on_node partita mig apply --gpu 0 --want 2c.7g.40gb:2,1c.7g.40gb:2
shows "applied"
[ "$(places)" = "0+2 2+2 4+1 5+1" ] || fail "another result: $(places)"
run 0 on_node partita mig assert --gpu 0 --want 2c.7g.40gb:2,1c.7g.40gb:2

# Nothing of four slices and another of two fits beside it; without it, it does.
run 4 on_node partita mig apply --gpu 0 --want 4c.7g.40gb,2c.7g.40gb,1c.7g.40gb
shows "● $pid sh"
echo >"$work/end"
wait
run 0 on_node partita mig apply --gpu 0 --want 4c.7g.40gb,2c.7g.40gb,1c.7g.40gb
[ "$(places)" = "0+4 4+2 6+1" ] || fail "another result: $(places)"

# In a new instance the first place of the widest would leave none for the others.
run 0 on_node partita mig apply --gpu 0 --want none
run 0 on_node partita mig apply --gpu 0 --want 3c.7g.40gb,2c.7g.40gb:2
[ "$(places)" = "0+2 2+2 4+3" ] || fail "another result: $(places)"
