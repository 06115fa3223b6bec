#!/usr/bin/env python3
"""check_documents.py LOCKSTEP SOURCES [--twin]: checks every JSON document that a command prints against the schema of its
kind in docs/schemas. Without --twin: commands that need neither root nor devices. With it: a twin of examples/rail-pod, from
plan to undo."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

LIFTED = "approval:traffic,drain"
EXAMPLE = "examples/rail-pod"


class Documents:
    def __init__(self, lockstep, sources):
        self.lockstep = lockstep
        self.folder = Path(sources) / "docs/schemas"
        self.seen = set()
        self.mistakes = []
        self.schemas = {}
        for file in sorted(self.folder.glob("*.json")):
            schema = json.loads(file.read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            self.schemas[file.stem] = jsonschema.Draft202012Validator(
                schema, format_checker=jsonschema.FormatChecker())

    def check(self, *words, code=0):
        done = subprocess.run([self.lockstep, *words, "-o", "json"], capture_output=True, text=True, timeout=900)
        command = " ".join(words)
        if done.returncode != code:
            return self.mistakes.append(f"{command}: exit code {done.returncode}, not {code}\n{done.stdout[:2000]}{done.stderr}")
        document = json.loads(done.stdout)
        kind = document.get("kind")
        if kind not in self.schemas:
            return self.mistakes.append(f"{command}: docs/schemas has no {kind}")
        self.seen.add(kind)
        for error in self.schemas[kind].iter_errors(document):
            self.mistakes.append(f"{command}: {kind} at {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
        return document

    def over(self, expected):
        if missing := expected - self.seen:
            self.mistakes.append(f"never printed: {sorted(missing)}")
        print("\n".join(self.mistakes) or f"{len(self.seen)} kinds of documents are as their schemas say")
        return 1 if self.mistakes else 0


def of_an_authority(documents, folder):
    ca = f"{folder}/ca"
    documents.check("ca", "init", ca, "--cluster", "pod")
    documents.check("ca", "issue", ca, "--role", "device", "--name", "gpu1", "--ip", "10.0.0.1")
    documents.check("ca", "issue", ca, "--role", "controller", "--name", "ctl", "--out", f"{folder}/ctl")
    documents.check("ca", "issue", ca, "--role", "device", "--name", "gpu1", code=1)
    for file in ("ca.crt", "gpu1.crt"):
        documents.check("ca", "show", f"{ca}/{file}")
    documents.check("ca", "revoke", ca, f"{ca}/gpu1.crt")
    documents.check("ca", "crl", ca)


def without_devices(documents, sources):
    pod = f"{sources}/{EXAMPLE}"
    documents.check("validate", pod)
    documents.check("validate", "/nonexistent", code=1)
    documents.check("version")
    documents.check("explain", "LS104")
    documents.check("explain", pod, "gpu1", "interface[rail0]/mtu")
    documents.check("render", pod, "leaf0")
    documents.check("diff", pod, f"{sources}/examples/big-pod", code=2)
    documents.check("diff", pod, pod)
    documents.check("twin", "break", "--list")
    documents.check("twin", "list")
    documents.check("host-policy", "explain")
    documents.check("host-policy", "explain", "sysctl[kernel.panic]", code=2)
    documents.check("get", "counters")
    with tempfile.TemporaryDirectory(prefix="lockstep-documents-") as folder:
        of_an_authority(documents, folder)
        config = Path(folder) / "config_db.json"
        for mtu, code in (("9100", 0), ("9300", 1)):
            config.write_text(json.dumps({"PORT": {"Ethernet0": {"lanes": "1", "speed": "100000", "mtu": mtu}}, "VLAN": {"V": {}}}))
            documents.check("sonic", "lint", str(config), code=code)
        wanted = Path(folder) / "wanted.json"
        wanted.write_text(json.dumps({"PORT": {"Ethernet0": {"lanes": "2", "speed": "100000"}}}))
        documents.check("sonic", "plan", str(wanted), str(config), code=1)
        config.write_text(json.dumps({"PORT": {"Ethernet0": {"lanes": "1", "speed": "100000", "admin_status": "up"}},
                                      "QUEUE": {"Ethernet0|3": {}}}))
        documents.check("sonic", "plan", str(config), str(wanted))
        subprocess.run(["cp", "-r", pod, f"{folder}/pod"], check=True)
        documents.check("validate", f"{folder}/pod", "--locked", code=1)
        documents.check("lock", f"{folder}/pod")
    return documents.over({"Validation", "Error", "Version", "Code", "Explanation", "RenderedDevice", "SpecDiff",
                           "FaultList", "TwinList", "HostPolicyReport", "HostPermission", "CertificateAuthority",
                           "Certificate", "RevocationList", "LockReport", "SonicLint", "SonicPlan", "Counters"})


def of_a_twin(documents, sources, folder):
    pod = f"{folder}/pod"
    subprocess.run(["cp", "-r", f"{sources}/{EXAMPLE}", pod], check=True)
    documents.check("twin", "up", pod, "--link-rate", "200Mbps")
    try:
        documents.check("twin", "status", pod)
        documents.check("plan", pod, "--twin", code=2)
        documents.check("drift", pod, "--twin", code=2)
        documents.check("drift", pod, "--twin", "--details", code=2)
        documents.check("apply", pod, "--twin", "--yes", "--no-measure", "--approve", LIFTED)
        documents.check("apply", pod, "--twin", "--yes")
        documents.check("twin", "break", pod, "mtu", "gpu1", "rail0")
        documents.check("twin", "break", pod, "killed-daemon", "leaf0", "bgpd")
        documents.check("plan", pod, "--twin", code=2)
        documents.check("drift", pod, "--twin", code=2)
        documents.check("apply", pod, "--twin", "--yes", "--no-measure", code=2)
        documents.check("apply", pod, "--twin", "--yes", "--no-measure", "--approve", LIFTED)
        documents.check("undo", "3", pod, "--twin", "--yes", "--no-measure", "--approve", LIFTED)
        documents.check("history", pod, "--twin")
        documents.check("show", "1", pod, "--twin")
        documents.check("state", "show", pod, "--twin")
        documents.check("state", "backup", f"{folder}/backup.sqlite", pod, "--twin")
        documents.check("state", "restore", f"{folder}/backup.sqlite", pod, "--twin")
        documents.check("discover", pod, "--twin")
    finally:
        documents.check("twin", "down", pod)
    return documents.over({"Twin", "Plan", "DriftReport", "ApplyReport", "History", "Change", "State", "Backup",
                           "Restored", "Discovery"})


def main():
    lockstep, sources = sys.argv[1:3]
    documents = Documents(lockstep, sources)
    if "--twin" not in sys.argv:
        return without_devices(documents, sources)
    with tempfile.TemporaryDirectory(prefix="lockstep-documents-") as folder:
        return of_a_twin(documents, sources, folder)


sys.exit(main())
