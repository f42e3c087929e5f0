#!/usr/bin/env bash
# Devices by name from both directories: the later wins, twins in one are neither, a bad file is a warning.
source "$(dirname "$0")/common.sh"
f1=$source_root/tests/golden/cdi/f1.yaml
mkdir -p "$work/host/etc/cdi" "$work/host/var/run/cdi"
list() { run 0 partita --host-root "$work/host" cdi list "$@"; }

list
silent out
silent err
cp "$f1" "$work/host/etc/cdi/nvidia.yaml"
sed 's/nvidia.com/a.com/' "$f1" >"$work/host/var/run/cdi/a.yaml"
list
silent err
printf '%s\n' a.com/gpu=0 a.com/gpu=all nvidia.com/gpu=0 nvidia.com/gpu=all | cmp - "$work/out" || fail "other names"

# The same devices once more: in the other directory they replace, in the same they are lost.
cp "$f1" "$work/host/var/run/cdi/nvidia.yaml"
list -o json
shows "\"file\": \"$work/host/var/run/cdi/nvidia.yaml\""
cp "$work/out" "$work/list.json"
by_schema cdi-v1 "$work/list.json"
cp "$f1" "$work/host/var/run/cdi/other.yaml"
echo "fooBar: 1" >"$work/host/etc/cdi/bad.yaml"
list
printf '%s\n' a.com/gpu=0 a.com/gpu=all | cmp - "$work/out" || fail "other names"
complains "partita: warning: $work/host/etc/cdi/bad.yaml:1:1: missing key" "bad.yaml:1:1: unknown key \"fooBar\"" \
  "nvidia.com/gpu=0, nvidia.com/gpu=all cannot be used: defined by $work/host/var/run/cdi/nvidia.yaml and" \
  "remove all of these files but one"
list -o json
shows "\"path\": \"$work/host/etc/cdi/bad.yaml\""
cp "$work/out" "$work/list.json"
by_schema cdi-v1 "$work/list.json"

# A directory that cannot be read does not end it.
rm -r "$work/host/etc/cdi"
touch "$work/host/etc/cdi"
list
shows a.com/gpu=0
complains "$work/host/etc/cdi: Not a directory"
run 0 partita cdi list --spec-dir "$work/nowhere" --spec-dir "$work/host/var/run/cdi"
shows a.com/gpu=all
