#!/usr/bin/env bash
# A configuration is judged without GPU or cluster: every problem with its place, and the files it names.
source "$(dirname "$0")/common.sh"
unset PARTITA_CONFIG_FILE

printf 'version: partita/v1\nlog: {level: warn}\n' >"$work/good.yaml"
run 0 partita config check -f "$work/good.yaml"
shows "$work/good.yaml: valid"
silent err

cat >"$work/bad.yaml" <<YAML
version: partita/v1
dra: {enabled: auto}
listn: ":9400"
log: {level: lood}
YAML
run 2 partita config check -f "$work/bad.yaml"
silent out
complains "$work/bad.yaml:2:1: \"dra\" comes with dynamic resource allocation" \
  "    2 | dra: {enabled: auto}" "      | ^^^ take it out: this version would do nothing with it" \
  "$work/bad.yaml:3:1: unknown key \"listn\"" "did you mean \"listen\"?" \
  "$work/bad.yaml:4:14: expected debug, info, warn or error, not \"lood\""

# What the agent could never write: its devices begin with digits.
printf 'version: partita/v1\ncdi: {versionMax: 0.4.0}\n' >"$work/old.yaml"
run 2 partita config check -f "$work/old.yaml"
complains "old.yaml:2:19: expected 0.5.0, 0.6.0 or 0.7.0, not \"0.4.0\""

# A file that was named must be there.
run 2 partita config check -f "$work/none.yaml"
complains "none.yaml" "name the file that is meant with -f; without it /etc/partita/config.yaml counts"

# What it names is read too.
printf 'version: partita/v1\nmig: {configFile: %s, default: some}\n' "$work/mig.yaml" >"$work/names.yaml"
run 2 partita config check -f "$work/names.yaml"
complains "$work/names.yaml:2:" "mig.configFile"
printf 'version: v1\nmig-configs:\n  some:\n  - {devices: all, mig-enabled: false}\n' >"$work/mig.yaml"
run 0 partita config check -f "$work/names.yaml"

# The way to the API server: a file that is absent or cannot be read, with the line that names it; and what is wrong in it.
printf 'version: partita/v1\nnode: {kubeconfig: %s}\n' "$work/kube" >"$work/way.yaml"
run 2 partita config check -f "$work/way.yaml"
silent out
complains "$work/way.yaml:2:20: node.kubeconfig cannot be read: " "$work/kube" "No such file or directory" \
  "    2 | node: {kubeconfig: $work/kube}" "      |                    ^^^" \
  "name one that is there, or take the key out: then \$KUBECONFIG counts, or the pod's account"
mkdir "$work/kube"
run 2 partita config check -f "$work/way.yaml"
complains "$work/way.yaml:2:20: node.kubeconfig cannot be read: "
rmdir "$work/kube"
printf 'apiVersion: v1\nkind: Config\n' >"$work/kube"
run 2 partita config check -f "$work/way.yaml"
complains "$work/way.yaml:2:20: node.kubeconfig: " "$work/kube:"
cat >"$work/kube" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
YAML
run 0 partita config check -f "$work/way.yaml"
