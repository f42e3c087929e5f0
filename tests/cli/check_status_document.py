#!/usr/bin/python3
"""Validates status documents (JSON, one per file) against apis/status-v1.schema.json, and checks that
docs/status-schema.md names every field. Knows the few JSON Schema words that the file uses, refuses
others: a word it ignored would be a check that never happens."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "apis/status-v1.schema.json").read_text())
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
KNOWN = {"$schema", "$id", "title", "description", "$defs", "$ref", "type", "properties", "required",
         "additionalProperties", "items", "enum", "const", "pattern", "minimum"}


def problems(value, schema, where):
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if unknown := set(schema) - KNOWN:
        yield f"{where}: the schema uses words that this check does not know: {unknown}"
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind == "integer" and isinstance(value, bool))):
        yield f"{where}: {value!r} is not of type {kind}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is not one of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: {value!r} does not match {schema['pattern']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where}: {value} is below {schema['minimum']}"
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield f"{where}: {key} is missing"
        for key, member in value.items():
            if key in schema.get("properties", {}):
                yield from problems(member, schema["properties"][key], f"{where}.{key}")
            else:
                yield f"{where}: {key} is not in the schema"
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], f"{where}[{index}]")


def undocumented():
    text = (ROOT / "docs/status-schema.md").read_text()
    for name, schema in [("", SCHEMA), *SCHEMA["$defs"].items()]:
        for key in schema["properties"]:
            if f"`{key}`" not in text:
                yield f"docs/status-schema.md: {name}.{key} is not named"


found = list(undocumented())
for path in sys.argv[1:]:
    found += problems(json.loads(pathlib.Path(path).read_text()), SCHEMA, path)
if found:
    sys.exit("\n".join(found))
print(f"{len(sys.argv) - 1} documents fit the schema")
