#!/usr/bin/env bash
# Files are checked against a product without any GPU; generated ones are right for their product.
source "$(dirname "$0")/common.sh"

run 0 partita mig generate-config --model H200
cp "$work/out" "$work/mig.yaml"
run 0 partita mig validate -f "$work/mig.yaml" --model H200
shows "all-balanced: valid for 1 GPU" "all-1g.18gb.me: valid for 1 GPU"
run 2 partita mig validate -f "$work/mig.yaml" --model A30
shows "all-disabled: valid for 1 GPU" "all-7g.141gb: invalid" 'unknown MIG profile "7g.141gb"' "^^^^^^^^"
run 0 partita mig validate -f "$work/mig.yaml" -c all-disabled --model A30
run 2 partita mig validate -f "$work/mig.yaml" -c all-disable --model A30
complains 'did you mean "all-disabled"?'
run 6 partita mig validate -f "$work/mig.yaml"
run 2 partita mig validate --model A30
complains "--config-file"
