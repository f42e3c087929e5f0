#!/usr/bin/env bash
# mps-control-daemon, which manifests of NVIDIA's device plugin run, says what replaces it, whatever it is asked.
source "$(dirname "$0")/common.sh"

mkdir "$work/bin"
ln -s "$(command -v partita)" "$work/bin/mps-control-daemon"
for words in "" "mount-shm" "--help" "--config-file /config/config.yaml"; do
  # shellcheck disable=SC2086: words
  run 2 "$work/bin/mps-control-daemon" $words
  silent out
  complains "there is no mps-control-daemon here" "mps.enabled" "mps.runner" "docs/mps.md"
done
# The image has the name, for manifests that run it.
grep -q '"mps-control-daemon"' "$source_root/scripts/package-image" || fail "the image does not have the name"
