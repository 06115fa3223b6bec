#!/usr/bin/env python3
"""Checks `lockstep schema` with a JSON Schema validator: the schemas are valid, every spec of the tree passes except at the
place that its annotation marks as wrong, and each document of wrong.yaml fails at its marked place only.
Usage: check_schemas.py LOCKSTEP SOURCES
"""
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """The YAML 1.2 core schema, which lockstep reads: `on` and dates are strings."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))

binary, sources = sys.argv[1], pathlib.Path(sys.argv[2])
validators = {}
failures = []


def schema_of(*kind):
    text = subprocess.run([binary, "schema", *kind], check=True, capture_output=True, text=True).stdout
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def kind_validator(kind):
    if kind not in validators:
        validators[kind] = schema_of(kind)
    return validators[kind]


def place(error):
    """Like ValidationError.json_path, whose spelling of keys with dots and brackets differs between versions."""
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in error.absolute_path)


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [one for one in yaml.load_all(file, Loader) if one is not None]


any_kind = schema_of()
passed = 0
for path in sorted([*sources.glob("examples/**/*.yaml"), *sources.glob("tests/cases/**/*.yaml")]):
    if path.parent.name == "platforms":  # a description of a platform is not an object of the language
        continue
    for document in documents(path):
        passed += 1
        wrong = document["metadata"].get("annotations", {}).get("wrong")
        for error in kind_validator(document["kind"]).iter_errors(document):
            if wrong is None or not place(error).startswith(wrong):
                failures.append(f"{path}: {document['kind']}: {place(error)}: {error.message}")
        if wrong is None and not any_kind.is_valid(document):
            failures.append(f"{path}: {document['kind']}: refused by the schema of all kinds")

refused = 0
for document in documents(sources / "tests/schema/wrong.yaml"):
    refused += 1
    name, where = document["metadata"]["name"], document["metadata"]["annotations"]["wrong"]
    places = {place(error) for error in kind_validator(document["kind"]).iter_errors(document)}
    if places != {where}:
        failures.append(f"wrong.yaml: {name}: expected an error at {where}, found {sorted(places) or 'none'}")
    if any_kind.is_valid(document):
        failures.append(f"wrong.yaml: {name}: accepted by the schema of all kinds")

print("\n".join(failures) if failures else f"{passed} documents pass, {refused} fail as they should")
sys.exit(1 if failures or not passed or not refused else 0)
