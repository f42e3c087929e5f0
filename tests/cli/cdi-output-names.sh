#!/usr/bin/env bash
# The name of the file decides the format; one that no engine would read is refused.
source "$(dirname "$0")/common.sh"

up h200-vm
cd "$work"
run 0 on_node partita cdi generate "$work/a.json"
head -c 14 "$work/a.json" | grep -q '{"cdiVersion":' || fail "a.json is no JSON"
mkdir "$work/b" "$work/c"
run 0 on_node partita cdi generate "$work/b/nvidia"
[ -e "$work/b/nvidia.yaml" ] || fail "no ending was added"
run 0 on_node partita cdi generate -o json "$work/c/nvidia"
[ -e "$work/c/nvidia.json" ] || fail "the wrong ending was added"
mkdir "$work/d" "$work/d/dir.yaml"
for name in "" . .. / "$work/d" "$work/d/" "$work/d/.yaml" "$work/d/dir.yaml" "$work/d/dir.yaml/" /dev/null; do
  run 2 on_node partita cdi generate "$name"
  complains "\"$name\": not the name of a CDI file" "ends in .yaml or .json"
  silent out
done
[ "$(ls -A "$work/d")" = dir.yaml ] && [ -z "$(ls -A "$work/d/dir.yaml")" ] || fail "something was written"
run 2 on_node partita cdi generate "$work/x.yml"
complains "x.yml: engines read no .yml" "name it .yaml"
[ ! -e "$work/x.yml" ] || fail "x.yml was written"
run 2 on_node partita cdi generate -o yaml "$work/x.json"
complains "is of the other format"

# Through a link to another file, but not to one of the same directory: every device would be there twice.
mkdir "$work/links" "$work/elsewhere"
ln -s t.yaml "$work/links/l.yaml"
run 1 on_node partita cdi generate "$work/links/l.yaml"
complains "links/l.yaml is a link to t.yaml of the same directory" "name $work/links/t.yaml itself"
[ "$(ls "$work/links")" = l.yaml ] || fail "something was written"
ln -sf ../elsewhere/t.yaml "$work/links/l.yaml"
run 0 on_node partita cdi generate "$work/links/l.yaml"
run 0 on_node partita cdi generate "$work/links/l.yaml"
[ -L "$work/links/l.yaml" ] && [ -s "$work/elsewhere/t.yaml" ] || fail "the link was not followed"
