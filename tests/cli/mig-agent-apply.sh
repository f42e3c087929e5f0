#!/usr/bin/env bash
# A change through the agent draws what it draws without one, byte for byte, and ends the same.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"

cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  halves:
    - devices: all
      mig-enabled: true
      mig-devices: {3g.71gb: 2}
  wrong:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.5bg: 2}
YAML

# steps NAME: the same on a fresh node, with its words and ends in $work/NAME.all.
steps() {
  local name=$1 status
  step() {
    status=0
    on_node "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null || status=$?
    { echo "== $* ($status)"; cat "$work/$name.out"; echo "--"; cat "$work/$name.err"; } |
      sed -e 's/time="[^"]*"/time=""/' >>"$work/$name.all"
  }
  step partita mig apply --want 3g.71gb,1g.18gb:2
  step partita mig checkpoint -f "$work/checkpoint"
  step partita mig apply -o json --want 1g.18gb:7
  step partita mig apply --want 1g.18gb:7
  step partita mig apply -o json --want 1g.18gb:8
  step partita mig apply --want 9g.18gb
  step partita mig apply -f "$work/mig.yaml" -c halves
  step partita mig apply -f "$work/mig.yaml" -c wrong
  step partita mig restore -f "$work/checkpoint"
  step partita mig restore -o json -f "$work/checkpoint"
  step "$work/nvidia-mig-parted" -d apply -f "$work/mig.yaml" -c halves
  step "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c wrong
  step "$work/nvidia-mig-parted" restore -f "$work/checkpoint"
  step partita mig boot
  step partita mig apply --mode-only --want off
  step partita mig show -o json
}
up h200-vm
steps without
partita-sim down --node "$node" --force >/dev/null
rm -rf "$PARTITA_STATE_DIR"
up h200-vm
agent_on=(partita-sim run --node "$node" --)
start_agent it --log-level debug
await it READY=1
steps through
diff "$work/without.all" "$work/through.all" >&2 || fail "the agent's changes are drawn otherwise"
grep -q "^GPU 0: create" "$work/through.all" || fail "no step was told"
logged it "method=mig.change" "method=mig.look" "method=mig.boot" "a change of MIG ended"

# What the agent changed it shows at once.
run 0 on_node partita status
run 0 on_node partita mig apply --want 3g.71gb,1g.18gb:2
run 0 on_node partita status
shows "3g.71gb"
