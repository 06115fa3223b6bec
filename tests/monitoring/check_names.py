#!/usr/bin/env python3
"""The rules, the dashboard and the documentation name the same things as the metrics.

Usage: check_names.py SOURCES METRICS
"""
import json
import pathlib
import re
import sys

import yaml

root, metrics = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
failures = []
known = set(re.findall(r"^# TYPE (\S+)", metrics, re.M)) | {"up", "time"}
histograms = set(re.findall(r"^# TYPE (\S+) histogram", metrics, re.M))
known |= {name + end for name in histograms for end in ("_bucket", "_sum", "_count")}


def check_metrics(where, query):
    for name in re.findall(r"\b(?:lockstep|process)_[a-z_]+", query):
        if name not in known:
            failures.append(f"{where}: there is no metric {name}")


page = (root / "docs" / "alerts.md").read_text(encoding="utf-8")
sections = {name.lower(): name for name in re.findall(r"^### (\w+)$", page, re.M)}
rules = yaml.safe_load((root / "packaging/monitoring/lockstep.rules.yml").read_text(encoding="utf-8"))
alerts = [rule for group in rules["groups"] for rule in group["rules"]]
for rule in alerts:
    check_metrics(rule["alert"], rule["expr"])
    anchor = rule["annotations"]["runbook_url"].partition("#")[2]
    if sections.get(anchor) != rule["alert"]:
        failures.append(f"{rule['alert']}: docs/alerts.md has no section for #{anchor}")
    if rule["labels"]["severity"] not in ("critical", "warning"):
        failures.append(f"{rule['alert']}: severity {rule['labels']['severity']}")
dashboard = json.loads((root / "packaging/monitoring/lockstep-dashboard.json").read_text(encoding="utf-8"))
queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
for query in queries:
    check_metrics("dashboard", query)
own = set(re.findall(r'"(Lockstep\w+)"', (root / "reconciler/alerts/alerts.cpp").read_text(encoding="utf-8")))
for name in own - set(sections.values()):
    failures.append(f"docs/alerts.md has no section for {name}")
for name in set(sections.values()) - {rule["alert"] for rule in alerts} - own:
    failures.append(f"docs/alerts.md has a section for {name}, which nothing raises")

for failure in failures:
    print(failure)
print(f"{len(alerts)} alerts, {len(queries)} queries, {len(known)} metrics, {len(failures)} failures")
sys.exit(1 if failures or len(alerts) < 10 or len(queries) < 10 else 0)
