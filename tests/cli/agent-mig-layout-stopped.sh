#!/usr/bin/env bash
# An agent that is stopped while it brings a lost layout back leaves that to the next one.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/agent_common.sh"

up h200-vm
lose_layout 3g.71gb,1g.18gb:2

# A hook that says when it runs, and never ends.
mkfifo "$work/hook"
cat >"$work/hooks.yaml" <<YAML
version: v1
hooks:
  apply-start:
  - workdir: /
    command: /bin/sh
    args: ["-c", "echo runs >$work/hook; exec sleep infinity"]
YAML
echo "$good_config
mig: {hooksFile: $work/hooks.yaml}" >"$PARTITA_CONFIG_FILE"
start_agent stopped
read -r -t 30 _ <"$work/hook" || fail "the layout is not being brought back"
kill "${agent[stopped]}"
ended stopped 0
[ "$(cat "$PARTITA_STATE_DIR/mig-boot")" = another-boot ] || fail "this boot counts as seen"

echo "$good_config" >"$PARTITA_CONFIG_FILE"
start_agent next
await next READY=1
logged next "MIG was lost by a reboot and brought back"
run 0 on_node partita mig assert --want 3g.71gb,1g.18gb:2
kill "${agent[next]}"
ended next 0
