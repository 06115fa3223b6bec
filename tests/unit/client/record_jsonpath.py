#!/usr/bin/env python3
"""record_jsonpath.py: writes what kubectl prints for each template of jsonpath.json into that file. It needs kubectl, and no
cluster: `kubectl label --local` prints an object in any form. The tests read the file alone."""
import json
import pathlib
import subprocess
import tempfile

file = pathlib.Path(__file__).with_name("jsonpath.json")
recorded = json.loads(file.read_text(encoding="utf-8"))
with tempfile.NamedTemporaryFile("w", suffix=".json") as document:
    json.dump(recorded["document"], document)
    document.flush()
    for case in recorded["cases"]:
        said = subprocess.run(["kubectl", "label", "--local", "-f", document.name, "recorded=yes", "-o",
                               "jsonpath=" + case["template"]], capture_output=True, text=True, check=False)
        case.pop("prints", None)
        case.pop("fails", None)
        if said.returncode == 0:
            case["prints"] = said.stdout
        else:
            case["fails"] = True
lines = ",\n".join("    " + json.dumps(case) for case in recorded["cases"])
document = json.dumps(recorded["document"], indent=1)
file.write_text(f'{{\n  "document": {document},\n  "cases": [\n{lines}\n  ]\n}}\n', encoding="utf-8")
