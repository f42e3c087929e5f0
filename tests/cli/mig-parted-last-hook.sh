#!/usr/bin/env bash
# The last hook runs whatever happened. Where it fails a change that is done is a failure, and an earlier
# failure stays the one that is told.
source "$(dirname "$0")/common.sh"
export PARTITA_RUN_DIR=$work/run
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"
up h200-vm
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  slices: [{devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}]
YAML
# hooks FIRST: a hook before the modes that ends so, and a last one that fails.
hooks() {
  cat >"$work/hooks.yaml" <<YAML
version: v1
hooks:
  pre-apply-mode: [{command: /bin/sh, args: ["-c", "exit $1"]}]
  apply-exit: [{command: /bin/sh, args: ["-c", "exit 7"]}]
YAML
}
apply() { run "$1" on_node "$work/nvidia-mig-parted" apply -f "$work/mig.yaml" -c slices -k "$work/hooks.yaml"; }

hooks 3
apply 1
complains "pre-apply-mode hooks: hook /bin/sh ended with status 3"
! grep -q "status 7" "$work/err" || fail "the last hook hides what failed"
run 3 on_node partita mig assert --want 1g.18gb:7

hooks 0
apply 1
complains "apply-exit hooks: hook /bin/sh ended with status 7"
run 0 on_node partita mig assert --want 1g.18gb:7
