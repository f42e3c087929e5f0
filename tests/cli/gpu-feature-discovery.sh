#!/usr/bin/env bash
# Under the reference's name: its flags, variables and file; a sorted file that is replaced as a whole and stays; SIGHUP
# reads the configuration again, and a bad one changes nothing.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up dgx-a100-40
mkdir "$work/bin"
ln -s "$(command -v partita)" "$work/bin/gpu-feature-discovery"
gfd=(partita-sim run --node "$node" -- "$work/bin/gpu-feature-discovery")
labels=$work/gfd
has() { for line in "$@"; do grep -qxF -- "nvidia.com/$line" "$labels" || fail "no label $line"; done; }

# Once, into a file: sorted, readable by all, with the time, without what only partita has.
run 0 env GFD_ONESHOT=true GFD_MACHINE_TYPE_FILE="$work/machine" "${gfd[@]}" --use-node-feature-api=false -o "$labels"
complains "$work/machine" "Running with config:" '"oneshot": true'
has gpu.count=8 gpu.product=NVIDIA-A100-SXM4-40GB gpu.machine=unknown gpu.memory=40960 vgpu.present=false
LC_ALL=C sort -c "$labels" || fail "not sorted"
[ "$(stat -c %a "$labels")" = 644 ] || fail "mode $(stat -c %a "$labels")"
grep -qE '^nvidia.com/gfd.timestamp=[0-9]+$' "$labels" || fail "no timestamp"
! grep -q "/gpu.present\|partita.dev" "$labels" || fail "more than the reference has"
[ "$(ls -A "$work" | grep -c gfd)" -eq 1 ] || fail "left beside the file: $(ls -A "$work")"

# To standard output; flags win over variables, those over the file.
cat >"$work/v1.yaml" <<'YAML'
version: v1
flags:
  migStrategy: mixed
  useNodeFeatureAPI: false
  gfd: {oneshot: true, noTimestamp: true, outputFile: ""}
sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}
YAML
run 0 env GFD_CONFIG_FILE="$work/v1.yaml" CONFIG_FILE=/nowhere GFD_MIG_STRATEGY=single MIG_STRATEGY=none "${gfd[@]}" --mig-strategy none
shows nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB-SHARED nvidia.com/gpu.replicas=2
! grep -q "mig.strategy\|timestamp" "$work/out" || fail "a label that nobody asked for"
run 0 env GFD_MIG_STRATEGY=single MIG_STRATEGY=none "${gfd[@]}" --config-file "$work/v1.yaml"
shows nvidia.com/mig.strategy=single

# It goes on until it is told to end, and its file stays.
rm "$labels"
sed -i "s|oneshot: true|sleepInterval: infinite|; s|outputFile: \"\"|outputFile: $labels|" "$work/v1.yaml"
"${gfd[@]}" --config-file "$work/v1.yaml" 2>"$work/it.log" &
agent[it]=$!
on_exit+=("kill -9 $!")
until_true test -e "$labels"
has gpu.replicas=2
sed -i 's/replicas: 2/replicas: 3/' "$work/v1.yaml"
kill -HUP "${agent[it]}"
until_true grep -qx nvidia.com/gpu.replicas=3 "$labels"
sed -i 's/replicas: 3/replicas: 1/' "$work/v1.yaml"
kill -HUP "${agent[it]}"
until_logged it "v1.yaml:6:"
until_logged it "the configuration from before stays in force"
has gpu.replicas=3
kill "${agent[it]}"
ended it 0
has gpu.replicas=3

# At intervals, with the same time each time.
"${gfd[@]}" --use-node-feature-api=false -o "$labels" --sleep-interval 1s 2>"$work/it.log" &
agent[it]=$!
on_exit+=("kill -9 $!")
until_true grep -q timestamp "$labels"
timestamp=$(grep timestamp "$labels")
run 0 on_node partita mig apply --gpu 1 --want 7g.40gb --yes
first=$(stat -c %i "$labels")
another() { [ "$(stat -c %i "$labels")" != "$first" ]; }
until_true another
[ "$(grep timestamp "$labels")" = "$timestamp" ] || fail "another time"
# What goes wrong later is said, and tried again.
run 0 partita-sim driver unload --node "$node"
until_logged it "the labels that were written last stay"
has gpu.count=8
run 0 partita-sim driver load --node "$node"
until_logged it "labels are written again"
kill "${agent[it]}"
ended it 0
