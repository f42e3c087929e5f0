#!/usr/bin/env bash
# Two CDI files are compared by what a container gets from them.
source "$(dirname "$0")/common.sh"
f1=$source_root/tests/golden/cdi/f1.yaml

# The same, written otherwise: as JSON, with quotes, without what is the default.
python3 - "$f1" >"$work/same.yaml" <<'PYTHON'
import sys
for line in open(sys.argv[1]):
    if "permissions: rwm" not in line:
        print(line.rstrip().replace("path: /dev/nvidiactl", "path: '/dev/nvidiactl'"))
PYTHON
run 0 partita cdi diff "$f1" "$work/same.yaml"
shows "no difference"

sed -e '/hostPath.*nvidia-smi/,+7d' -e 's/major: 511/major: 510/' -e 's/--folder/--ldconfig-path/' "$f1" >"$work/other.yaml"
run 3 partita cdi diff "$f1" "$work/other.yaml"
cat >"$work/wanted" <<'TEXT'
common edits: node /dev/nvidia-uvm
  - 511:0, mode 0666
  + 510:0, mode 0666
common edits: node /dev/nvidia-uvm-tools
  - 511:1, mode 0666
  + 510:1, mode 0666
common edits: hook createContainer update-ldcache
  - --folder /usr/lib/x86_64-linux-gnu
  + --ldconfig-path /usr/lib/x86_64-linux-gnu
common edits: mount /usr/bin/nvidia-smi
  - /usr/bin/nvidia-smi (nodev,nosuid,rbind,ro,rprivate)
TEXT
cmp "$work/wanted" "$work/out" || fail "another difference"
run 3 sh -c "partita cdi diff '$f1' - -o json <'$work/other.yaml'"
cp "$work/out" "$work/diff.json"
by_schema cdi-v1 "$work/diff.json"

run 2 partita cdi diff "$f1"
run 2 partita cdi diff "$f1" /dev/null
complains "/dev/null:1:1: expected a CDI specification, not nothing"
run 1 partita cdi diff "$f1" "$work/absent.yaml"
complains "absent.yaml: No such file"
