#!/usr/bin/env bash
# In a PID namespace of our own the driver lists nobody, without an error. Memory that nobody listed
# explains is somebody we cannot see, who is in the way as any holder is.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
privately() { on_node unshare --pid --fork --mount-proc "$@"; }
mkfifo "$work/started" "$work/end"
# start ARGUMENT…: a workload with these; its pid is in $pid.
start() {
  partita-sim workload start --node "$node" --gpu 0 "$@" -- \
    sh -c 'echo $$ >"$1"; read -r _ <"$2"' job "$work/started" "$work/end" &
  read -r pid <"$work/started"
  on_exit+=("kill $pid 2>/dev/null")
}
end() {
  echo >"$work/end"
  wait
}

up h200-vm
run 0 privately partita mig plan --want 1g.18gb:7 # idle is idle
start --memory 3584MiB
run 0 on_node nvidia-smi
shows "$pid"
run 0 privately nvidia-smi
shows "No running processes found" "3584MiB"

run 4 privately partita mig plan --want 1g.18gb:7 --width 200
shows "blocked" "somebody who cannot be seen from here holds 3.5 GiB" "PID namespace"
run 4 privately partita mig apply --want 1g.18gb:7 --yes
run 4 privately partita mig plan --want 1g.18gb:7 -o json
shows '"blocked": true' '"hiddenHolders": [' "\"memoryBytes\": $((3584 << 20))"
complains "somebody who cannot be seen from here holds 3.5 GiB"
run 0 privately partita status --width 200
shows "somebody who cannot be seen from here holds 3.5 GiB"
run 0 privately partita status -o json
shows '"hiddenHolders": [' "\"memoryBytes\": $((3584 << 20))"
run 0 on_node partita mig show
shows "● $pid sh" "MIG off"
end

# With instances it is known which of them: the others are free.
run 0 privately partita mig apply --want 3g.71gb,1g.18gb:2 --yes
run 0 on_node partita mig show -o json
gi=$(grep -B1 '"profile": "3g.71gb"' "$work/out" | grep -o '[0-9]*' | head -1)
start --mig "$gi" --memory 1GiB
run 4 privately partita mig apply --want 1g.18gb:7 --yes
shows "GI $gi"
run 4 privately partita mig apply --want off --yes
run 0 privately partita mig apply --want 3g.71gb,2g.35gb --yes
run 0 privately partita mig show -o json
shows '"hiddenHolders": [' "\"gpuInstance\": $gi"
end
run 0 privately partita mig apply --want off --yes

# A driver before memory version 2 cannot give the sign: then nobody knows.
sed "s/version: 580.159.04/version: 470.256.02/" "$source_root/data/nodes/dgx-a100-40.yaml" >"$work/node.yaml"
node=old
partita-sim up --file "$work/node.yaml" --node "$node" >"$work/up" 2>&1 || fail "cannot simulate 470"
on_exit+=("partita-sim down --node $node --force >/dev/null 2>&1")
start --memory 3584MiB
run 4 privately partita mig plan --gpu 0 --want 7g.40gb --width 200
shows "who uses it cannot be read" "PID namespace"
end
run 4 privately partita mig plan --gpu 0 --want 7g.40gb --width 200
shows "who uses it cannot be read" "PID namespace"
