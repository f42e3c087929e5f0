#!/usr/bin/env bash
# Hooks of a change through the agent run there as they would in the command: their variables, their folder,
# what they write; while one runs no node of the driver is open in the agent.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"
ln -s "$PARTITA_BIN/partita" "$work/nvidia-mig-parted"

up h200-vm
mkdir "$work/here"
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  slices:
    - {devices: all, mig-enabled: true, mig-devices: {1g.18gb: 7}}
  halves:
    - {devices: all, mig-enabled: true, mig-devices: {3g.71gb: 2}}
YAML
# hook POINT STATUS: notes where it runs, with what, and what the agent has open.
hook() {
  cat <<YAML
  $1:
    - command: /bin/sh
      args: ["-c", "echo $1 \$(pwd) \$MIG_PARTED_SELECTED_CONFIG \$HOME >>$work/log; ls -l /proc/\$(cat $work/pid)/fd | grep -c '/dev/nvidia' >>$work/open; echo said by $1; exit $2"]
YAML
}
{ echo "version: v1"; echo "hooks:"; hook apply-start 0; hook pre-apply-config 0; hook apply-exit 0; } >"$work/hooks.yaml"
{ echo "version: v1"; echo "hooks:"; hook apply-start 0; hook pre-apply-config 3; hook apply-exit 0; } >"$work/fails.yaml"
agent_on=(partita-sim run --node "$node" --)
start_agent it
await it READY=1
echo "${agent[it]}" >"$work/pid"
ls -l "/proc/${agent[it]}/fd" | grep -q /dev/nvidia || fail "the agent has no session"

cd "$work/here"
run 0 on_node "$work/nvidia-mig-parted" -d apply -f ../mig.yaml -c slices -k ../hooks.yaml
shows "MIG configuration applied successfully"
complains "said by apply-start" "said by pre-apply-config" "said by apply-exit" "GPU 0: create"
printf "%s $work/here slices\n" apply-start pre-apply-config apply-exit | cmp - "$work/log" ||
  fail "other hooks: $(cat "$work/log")"
[ "$(sort -u "$work/open")" = 0 ] || fail "the agent had nodes open beside a hook: $(cat "$work/open")"

run 1 on_node "$work/nvidia-mig-parted" apply -f ../mig.yaml -c halves -k ../fails.yaml
complains "said by pre-apply-config" "rror running pre-apply-config hooks" "status 3"
run 0 on_node "$work/nvidia-mig-parted" assert -f ../mig.yaml -c slices
run 0 on_node partita status
shows "1 GPU"
