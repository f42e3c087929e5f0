#!/usr/bin/env bash
# assert and diff compare devices, wherever they are placed: 0 or 3. Other GPUs count with --strict.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
on_node nvidia-smi -i 7 -mig 1 >/dev/null
on_node nvidia-smi -r -i 7 >/dev/null
on_node nvidia-smi mig -i 7 -cgi 9,19 -C >/dev/null
cat >"$work/mig.yaml" <<'YAML'
version: v1
mig-configs:
  right:
    - devices: [7]
      mig-enabled: true
      mig-devices: {1c.1g.5gb: 1, 3g.20gb: 1, 2g.10gb: 0}
  wrong:
    - devices: [7]
      mig-enabled: true
      mig-devices: {1g.5gb: 2}
YAML
run 0 on_node partita mig assert -f "$work/mig.yaml" -c right
shows "applied"
run 0 on_node partita mig diff -f "$work/mig.yaml" -c right
shows "no difference"
run 3 on_node partita mig assert -f "$work/mig.yaml" -c right --strict
shows "no entry is for GPUs 0-6"
run 3 on_node partita mig assert -f "$work/mig.yaml" -c wrong
shows "not applied" "- 1 x 3g.20gb" "+ 1 x 1g.5gb"
run 0 on_node partita mig assert -f "$work/mig.yaml" -c wrong --mode-only
run 3 on_node partita mig diff -f "$work/mig.yaml" -c wrong -o json
shows '"applied": false' '"1 x 3g.20gb"'
run 3 on_node env MIG_PARTED_CONFIG_FILE="$work/mig.yaml" MIG_PARTED_SELECTED_CONFIG=wrong partita mig assert
