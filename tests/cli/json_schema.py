"""The few words of JSON Schema that apis/ uses. Others are refused: a word that was ignored would be a check
that never happens."""

import re

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
         "object": dict, "null": type(None)}
KNOWN = {"$schema", "$id", "title", "description", "$defs", "$ref", "type", "properties", "required",
         "additionalProperties", "items", "enum", "const", "pattern", "minimum", "oneOf"}


def problems(value, schema, root, where):
    """What is wrong with a value, each with its place; `root` has the definitions."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if unknown := set(schema) - KNOWN:
        yield f"{where}: the schema uses words that this check does not know: {unknown}"
    if "oneOf" in schema:
        yield from chosen(value, schema["oneOf"], root, where)
    if "type" in schema and not of_type(value, schema["type"]):
        yield f"{where}: {value!r} is not of type {schema['type']}"
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
        yield from members(value, schema, root, where)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], root, f"{where}[{index}]")


def of_type(value, wanted):
    kinds = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, TYPES[kind]) for kind in kinds)


def chosen(value, choices, root, where):
    """Exactly one of them fits. Where none does, what is wrong with the one of the value's `kind`."""
    found = [list(problems(value, choice, root, where)) for choice in choices]
    if sum(not each for each in found) == 1:
        return
    kind = value.get("kind") if isinstance(value, dict) else None
    for choice, each in zip(choices, found):
        if choice.get("$ref") == f"#/$defs/{kind}" and each:
            yield from each
            return
    yield f"{where}: {sum(not each for each in found)} of {len(choices)} forms fit {kind!r}"


def members(value, schema, root, where):
    if "properties" not in schema and "additionalProperties" not in schema:
        return
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where}: {key} is missing"
    rest = schema.get("additionalProperties", True)
    for key, member in value.items():
        if key in schema.get("properties", {}):
            yield from problems(member, schema["properties"][key], root, f"{where}.{key}")
        elif isinstance(rest, dict):
            yield from problems(member, rest, root, f"{where}.{key}")
        else:
            yield f"{where}: {key} is not in the schema"
