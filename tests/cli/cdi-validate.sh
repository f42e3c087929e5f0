#!/usr/bin/env bash
# Every problem of a CDI file is told with its place; a hook that takes the image's environment is a warning.
source "$(dirname "$0")/common.sh"
f1=$source_root/tests/golden/cdi/f1.yaml
mkdir "$work/cdi"

run 0 partita cdi validate "$f1"
shows "$f1: valid, 2 devices of nvidia.com/gpu, CDI 0.5.0"
run 0 sh -c "partita cdi validate - <'$f1'"
shows "-: valid, 2 devices"
run 0 partita cdi validate --spec-dir "$work/cdi"
shows "no CDI file in $work/cdi"

sed '/^          env:/,+1d' "$f1" >"$work/cdi/without-env.yaml"
run 0 partita cdi validate --spec-dir "$work/cdi"
shows "without-env.yaml: valid" "warning: 5 problems:" "hook /usr/bin/nvidia-cdi-hook has no env"

sed -e 's/^cdiVersion.*/cdiVersion: 1.2.0/' -e 's/name: all/name: "0"/' "$f1" >"$work/cdi/meaning.yaml"
sed -e 's/hookName: createContainer/hookname: createContainer/' -e 's/major: 195/major: many/' "$f1" >"$work/cdi/text.yaml"
run 2 partita cdi validate --spec-dir "$work/cdi"
shows "without-env.yaml: valid" "meaning.yaml: 2 problems:" 'CDI version "1.2.0" is not known' \
  'device "0": it is there twice' "text.yaml:9:22: expected a whole number, not \"many\"" \
  'did you mean "hookName"?'
run 2 partita cdi validate --spec-dir "$work/cdi" -o json
cp "$work/out" "$work/verdict.json"
by_schema cdi-v1 "$work/verdict.json"
run 2 partita cdi validate "$f1" "$work/absent.yaml"
shows "$f1: valid" "absent.yaml: No such file"

# A terminal does not see what a file hides in it.
printf 'cdiVersion: "\\e[2J"\nkind: x\ndevices: []\n' >"$work/hostile.yaml"
run 2 partita cdi validate "$work/hostile.yaml"
! grep -q $'\e' "$work/out" "$work/err" || fail "an escape sequence came through"
