#!/usr/bin/env bash
# Layouts are counted and drawn for each kind of GPU; the numbers are those of the placements.
source "$(dirname "$0")/common.sh"

up dgx-a100-40
run 0 on_node partita mig layouts
shows "GPUs 0-7  NVIDIA A100-SXM4-40GB" \
  "2319 layouts, 239 of them full; 128 sets of instances, 44 that no other" \
  "│4g.20gb        │3g.20gb        │     1  4g.20gb, 3g.20gb"
run 0 on_node partita mig layouts --gpu 3 -o yaml
shows "kind: MigLayouts" "layouts: 2319" "fullLayouts: 239"
run 0 partita mig layouts --model A30 --all --width 120
shows "2g.12gb; room for 2g.12gb, 2g.12gb+me, 2 x 1g.6gb, 1g.6gb+me"
run 0 partita mig layouts --model T4
shows "Tesla T4 cannot do MIG"
