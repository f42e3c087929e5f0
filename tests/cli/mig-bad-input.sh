#!/usr/bin/env bash
# Wrong requests are told with their place, the rule and what would work: exit status 2.
source "$(dirname "$0")/common.sh"

up mixed
run 2 on_node partita mig plan
complains "nothing says what the GPUs shall be"
run 1 on_node partita mig plan -f "$work/none.yaml"
complains "none.yaml"
run 2 partita mig plan --model H200 --want 2g.35gb,1g.20gb:2
complains '--want:1:9: NVIDIA H200: unknown MIG profile "1g.20gb"' '^^^^^^^ did you mean "1g.18gb"?'
run 2 partita mig plan --model A100-SXM4-40GB --want 3g.20gb:2,1g.5gb
shows "take 9 memory slices, and the GPU has 8" "would work: 2 x 3g.20gb" "plan: impossible"
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  one:
    - devices: all
      mig-enabled: true
      mig-devices: {1g.5bg: 7}
  two:
    - device: all
      mig-enabled: on
YAML
run 2 on_node partita mig plan -f "$work/mig.yaml" -c one
complains "mig.yaml:8:7:" 'did you mean "devices"?'

# A file without an end
run 2 partita mig validate --model H200 -f /dev/zero
complains "/dev/zero has more than 16777216 bytes" "is it the right file?"

# A file that is not there.
run 1 partita mig validate -f "$work/none.yaml"
complains "open $work/none.yaml: No such file or directory" "check the path and who may read it"
run 1 partita mig restore --checkpoint-file "$work/none.json"
complains "open $work/none.json: No such file or directory" "check the path"
