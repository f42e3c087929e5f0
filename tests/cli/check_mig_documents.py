#!/usr/bin/python3 -B
"""Validates documents against the schemas in apis/. Usage: check_mig_documents.py SCHEMA FILE…
Without files: checks that docs/mig-schema.md names every field."""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
from json_schema import problems  # noqa: E402: nothing is left in the tree

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load(name):
    return json.loads((ROOT / f"apis/{name}.schema.json").read_text())


def fields(schema):
    """The names of a schema's own fields, wherever they are."""
    for word, value in schema.items():
        if word == "properties":
            yield from value
        if isinstance(value, dict):
            yield from fields(value)


def undocumented():
    text = (ROOT / "docs/mig-schema.md").read_text()
    for name in ("mig-v1", "mig-config-v1", "mig-checkpoint-v1"):
        for field in sorted(set(fields(load(name)))):
            if f"`{field}`" not in text:
                yield f"docs/mig-schema.md: {field} of {name} is not named"


def misfits(schema, paths):
    for path in paths:
        yield from problems(json.loads(pathlib.Path(path).read_text()), schema, schema, path)


found = list(misfits(load(sys.argv[1]), sys.argv[2:]) if len(sys.argv) > 1 else undocumented())
if found:
    sys.exit("\n".join(found))
