#!/usr/bin/env bash
# The documents that the unit tests pin fit the published schema, whose fields are all documented.
source "$(dirname "$0")/common.sh"

run 0 python3 "$source_root/tests/cli/check_status_document.py" "$source_root"/tests/golden/status/*.json
shows "documents fit the schema"
