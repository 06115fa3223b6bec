"""check_openapi.py PRINT_API: whether the OpenAPI document of the service is one, and describes its objects. What a
running service serves is checked by tests/client/served.py.

- It is valid by the official JSON Schema of OpenAPI 3.1 (openapi-3.1-schema.json, of the OpenAPI Initiative, Apache
  License 2.0), and by openapi-spec-validator where that is installed (Debian 12 has none).
- Every reference leads somewhere, operations have one name each, and every {part} of a path is a parameter.
- An object of each kind satisfies the schema of its kind, and stops doing so when a field is lost or has another type.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys

import jsonschema


def fail(what):
    sys.exit(f"openapi: {what}")


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolved(document, reference):
    if not reference.startswith("#/"):
        fail(f"{reference} leads out of the document")
    at = document
    for part in reference[2:].split("/"):
        if part not in at:
            fail(f"{reference} leads nowhere")
        at = at[part]
    return at


def check_document(document):
    schema = json.loads((pathlib.Path(__file__).parent / "openapi-3.1-schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for error in validator.iter_errors(document):
        fail(f"{error.json_path}: {error.message[:300]}")
    broken = copy.deepcopy(document)
    del broken["info"]["title"]
    if validator.is_valid(broken):
        fail("the check finds no missing title: it checks nothing")
    try:
        import openapi_spec_validator
    except ImportError:
        return
    openapi_spec_validator.validate(document)


def check_paths(document):
    for reference in references(document):
        resolved(document, reference)
    names = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            names.append(operation["operationId"])
            known = set()
            for one in operation.get("parameters", []):
                one = resolved(document, one["$ref"]) if "$ref" in one else one
                if one["in"] == "path":
                    known.add(one["name"])
            if known != set(re.findall(r"{(\w+)}", path)):
                fail(f"{method} {path} has other path parameters: {known}")
    if len(names) != len(set(names)):
        fail("two operations have one name")
    return len(names)


def altered(sample):
    """Copies of a sample, each with one of its fields lost or of another type."""
    for lost in ("kind", "apiVersion", "metadata"):
        one = copy.deepcopy(sample)
        del one[lost]
        yield f"without {lost}", one
    one = copy.deepcopy(sample)
    one["metadata"]["name"] = 7
    yield "with a number as its name", one
    if "status" in sample:
        one = copy.deepcopy(sample)
        one["status"] = []
        yield "with a list as its status", one


def check_described(document, name, schema_name, what):
    """Whether this JSON satisfies the schema of that name. Returns its validator."""
    schema = {**document["components"]["schemas"][schema_name], "components": document["components"]}
    validator = jsonschema.Draft202012Validator(schema)
    for error in validator.iter_errors(what):
        fail(f"{name}: {error.json_path}: {error.message[:300]}")
    return validator


def check_object(document, name, sample):
    validator = check_described(document, name, sample["kind"], sample)
    # Fields that no client can learn of.
    for part in ("spec", "status"):
        known = validator.schema["properties"].get(part, {}).get("properties", {})
        for field in sample.get(part, {}):
            if field not in known:
                fail(f"{name}: {part}.{field} is not in the schema")
    return validator


def check_samples(document, samples):
    seen = set()
    for name, sample in samples.items():
        validator = check_object(document, name, sample)
        for what, one in altered(sample):
            if validator.is_valid(one):
                fail(f"the schema of {sample['kind']} accepts an object {what}")
        seen.add(sample["kind"])
    kinds = {name for name in document["components"]["schemas"] if name + "List" in document["components"]["schemas"]}
    if seen != kinds:
        fail(f"no sample of {kinds - seen}")


def main():
    printed = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, timeout=60).stdout)
    check_document(printed["openapi"])
    count = check_paths(printed["openapi"])
    check_samples(printed["openapi"], printed["samples"])
    print(f"{count} operations, {len(printed['samples'])} samples")


if __name__ == "__main__":
    main()
