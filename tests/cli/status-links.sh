#!/usr/bin/env bash
# Links of a pair are those that both ends count: one that is divided has none, whatever its partner says.
source "$(dirname "$0")/common.sh"

sed -e 's/^nvlink: none/nvlink: pairs/' -e '/^gpus:/,$d' "$source_root/data/nodes/mixed.yaml" >"$work/pair.yaml"
cat >>"$work/pair.yaml" <<'YAML'
gpus:
  - {product: A100-SXM4-40GB, pci: "0000:86:00.0", numa: 1, bridges: ["0000:85:00.0"]}
  - {product: A100-SXM4-40GB, pci: "0000:af:00.0", numa: 1, bridges: ["0000:ae:00.0"]}
YAML
node=pair-$$
run 0 partita-sim up --file "$work/pair.yaml" --node "$node"
on_exit+=("partita-sim down --node $node --force >/dev/null 2>&1")
run 0 on_node partita status --output json
shows '"nvlinks": 12'
run 0 on_node partita mig apply --gpu 0 --want 3g.20gb --yes
run 0 on_node partita status --output json
shows '"nvlinks": 0'
