#!/usr/bin/python3 -B
"""Validates status documents (JSON, one per file) against apis/status-v1.schema.json, and checks that
docs/status-schema.md names every field."""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
from json_schema import problems  # noqa: E402: nothing is left in the tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "apis/status-v1.schema.json").read_text())


def undocumented():
    text = (ROOT / "docs/status-schema.md").read_text()
    for name, schema in [("", SCHEMA), *SCHEMA["$defs"].items()]:
        for key in schema["properties"]:
            if f"`{key}`" not in text:
                yield f"docs/status-schema.md: {name}.{key} is not named"


found = list(undocumented())
for path in sys.argv[1:]:
    found += problems(json.loads(pathlib.Path(path).read_text()), SCHEMA, SCHEMA, path)
if found:
    sys.exit("\n".join(found))
print(f"{len(sys.argv) - 1} documents fit the schema")
