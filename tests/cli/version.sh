#!/usr/bin/env bash
# The version is the same in every form.
source "$(dirname "$0")/common.sh"

run 0 partita version
version=$(sed -n 's/^partita //p' "$work/out")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "no version number: $version"
run 0 partita --version
shows "$version"
run 0 partita version --output json
python3 -c 'import json,sys; assert json.load(sys.stdin)["version"] == sys.argv[1]' "$version" <"$work/out"
run 0 partita version -o yaml
shows "version: $version"
