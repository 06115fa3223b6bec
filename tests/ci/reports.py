"""Judges the reports of `lockstep drift` and of examples/ci by the rules of those who read them.
Usage as a program: reports.py SCHEMAS FILE...; by its name a FILE is SARIF (.sarif), JUnit (.xml) or code quality (.json).
Exit code 77: the schemas are not available here.
"""
import json
import pathlib
import sys

import jsonschema
import official

SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


def wrong_in_sarif(modules, document):
    """By OASIS' schema, and by what GitHub needs to show a result (docs.github.com, "SARIF support for code scanning")."""
    validator = jsonschema.Draft7Validator(official.sarif_schema(modules))
    wrong = [f"{'/'.join(map(str, one.absolute_path))}: {one.message[:200]}" for one in validator.iter_errors(document)]
    run = document["runs"][0]
    prints = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    if len(set(prints)) != len(prints):
        wrong.append("two results have one fingerprint: GitHub shows one alert for both")
    rules = {one["id"] for one in run["tool"]["driver"]["rules"]}
    for one in run["results"]:
        if one["ruleId"] not in rules:
            wrong.append(f"no rule is called {one['ruleId']}")
        if not one.get("locations"):
            wrong.append(f"no location: {one['message']['text']}")
    return wrong


def wrong_in_codequality(findings):
    """By GitLab's documentation of code quality reports: its parser stops at the first finding that is invalid."""
    wrong = []
    for one in findings:
        path, begin = one["location"]["path"], one["location"]["lines"]["begin"]
        if not all(isinstance(one[key], str) and one[key] for key in ("description", "check_name", "fingerprint")):
            wrong.append(f"a text is missing: {one}")
        if one["severity"] not in SEVERITIES:
            wrong.append(f"severity {one['severity']}")
        if not path or path.startswith(("/", "./")) or not isinstance(begin, int) or begin < 1:
            wrong.append(f"place {path}:{begin} is not in the repository")
    prints = [one["fingerprint"] for one in findings]
    if len(set(prints)) != len(prints):
        wrong.append("two findings have one fingerprint: GitLab drops one")
    return wrong


def wrong_in(modules, file):
    path = pathlib.Path(file)
    if path.suffix == ".xml":
        said = official.wrong_in_junit(modules, file)
        return [said] if said else []
    document = json.loads(path.read_text(encoding="utf-8"))
    return wrong_in_sarif(modules, document) if path.suffix == ".sarif" else wrong_in_codequality(document)


def main():
    try:
        modules = official.fetch(sys.argv[1])
    except official.Unavailable as why:
        print(f"not tested: {why}")
        return 77
    wrong = [f"{file}: {one}" for file in sys.argv[2:] for one in wrong_in(modules, file)]
    print("\n".join(wrong) if wrong else f"{len(sys.argv) - 2} reports are valid")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
