#!/usr/bin/env python3
"""sonic_fabric.py LOCKSTEP SOURCES: examples/rail-pod with SONiC leaves and spines, each a real Redis: applied, in sync, drifted
and healed. The oracle is redis-cli. Exit code 77: there is no redis-server here."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SWITCHES = {"leaf0": ["swp1", "swp2", "swp3", "swp4", "up0", "up1"], "leaf1": ["swp1", "swp2", "swp3", "swp4", "up0", "up1"],
            "spine0": ["down0", "down1"], "spine1": ["down0", "down1"]}
ONLY = ",".join(SWITCHES)
APPROVED = ["--yes", "--no-measure", "--approve", "far-end,drain,approval:traffic"]


class Fabric:
    def __init__(self, lockstep, sources, folder):
        self.lockstep, self.folder, self.servers = lockstep, Path(folder), []
        self.specs = self.folder / "specs"
        shutil.copytree(Path(sources) / "examples/rail-pod", self.specs)
        devices = self.specs / "devices.yaml"
        text = devices.read_text()
        text = text.replace("drivers: [linux, frr]", "drivers: [sonic]")
        hosts, *switches = re.split(r"(?=\n---\n)", text, maxsplit=1)
        connect = '  connect: {redis: "%s/{name}.sock"}' % self.folder
        switches = [re.sub(r"  # connect: .*", connect, one) for one in switches]
        hosts = re.sub(r"  # connect: .*", '  connect: {agent: "https://{name}.invalid:7443"}', hosts)
        devices.write_text(hosts + "".join(switches))
        for name in SWITCHES:
            self.servers.append(subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", f"{folder}/{name}.sock", "--save", ""],
                                                 cwd=folder, stdout=subprocess.DEVNULL))
        for name, ports in SWITCHES.items():
            self.load(name, ports)

    def redis(self, switch, *words):
        done = subprocess.run(["redis-cli", "-s", f"{self.folder}/{switch}.sock", "-n", "4", *words], capture_output=True, text=True)
        return done.stdout.strip()

    def load(self, switch, ports):
        until = time.monotonic() + 20
        while self.redis(switch, "PING") != "PONG":
            assert time.monotonic() < until, f"{switch} does not answer"
            time.sleep(0.05)  # a poll
        for number, port in enumerate(ports):
            self.redis(switch, "HSET", f"PORT|{port}", "lanes", str(number), "speed", "400000", "mtu", "9100", "admin_status", "up")
        self.redis(switch, "HSET", "DEVICE_METADATA|localhost", "hostname", switch, "frr_mgmt_framework_config", "true")
        self.redis(switch, "HSET", "BUFFER_POOL|ingress_lossless_pool", "type", "ingress", "mode", "dynamic", "size", "40000000")
        self.redis(switch, "HSET", "VLAN|Vlan7", "vlanid", "7")
        self.redis(switch, "SET", "CONFIG_DB_INITIALIZED", "1")

    def run(self, *words):
        environment = {**os.environ, "LOCKSTEP_STATE_DIR": str(self.folder / "state")}
        return subprocess.run([self.lockstep, *words], capture_output=True, text=True, env=environment, timeout=300)

    def plan(self):
        done = self.run("plan", str(self.specs), "--only", ONLY, "-o", "json")
        document = json.loads(done.stdout)
        assert document["kind"] == "Plan", done.stdout
        return document["summary"]["changes"]

    def dump(self, switch):
        config = {}
        for name in self.redis(switch, "KEYS", "*|*").splitlines():
            table, key = name.split("|", 1)
            fields = json.loads(self.redis(switch, "--json", "HGETALL", name))
            row = {field.rstrip("@"): value.split(",") if field.endswith("@") else value for field, value in fields.items() if field != "NULL"}
            config.setdefault(table, {})[key] = row
        return config

    def end(self):
        for server in self.servers:
            server.terminate()
            server.wait()


def check(fabric, sources):
    assert fabric.plan() > 100
    done = fabric.run("apply", str(fabric.specs), "--only", ONLY, *APPROVED)
    assert "steps done" in done.stdout, done.stdout + done.stderr
    assert fabric.plan() == 0, "a second plan is not empty"
    leaf = fabric.dump("leaf0")
    qos = leaf["PORT_QOS_MAP"]["swp1"]
    assert qos["pfc_enable"] == "3" and leaf["DSCP_TO_TC_MAP"][qos["dscp_to_tc_map"]]["26"] == "3", qos
    assert leaf["PORT"]["up0"]["mtu"] == "9216" and leaf["PORT"]["up0"]["admin_status"] == "up", leaf["PORT"]
    assert leaf["VLAN"] == {"Vlan7": {"vlanid": "7"}}
    models = Path(os.environ.get("LOCKSTEP_SHARED_DATA", Path(sources) / "../shared/data")) / "sonic-yang"
    for switch in SWITCHES:
        file = fabric.folder / f"{switch}.json"
        file.write_text(json.dumps({table: rows for table, rows in fabric.dump(switch).items() if table != "VLAN"}))
        words = ["--yang", str(models)] if models.is_dir() else []
        linted = fabric.run("sonic", "lint", *words, str(file))
        assert linted.returncode == 0, linted.stdout + linted.stderr
    fabric.redis("leaf0", "HSET", "PORT|swp1", "mtu", "1500")
    fabric.redis("leaf0", "HSET", "PORT|swp1", "description", "touched")
    drift = fabric.run("drift", str(fabric.specs), "-o", "json")
    items = [one for one in json.loads(drift.stdout)["items"] if one["state"] == "drifted"]
    assert [(one["device"], one["path"], one["have"]) for one in items] == [("leaf0", "interface[swp1]/mtu", 1500)], items
    healed = fabric.run("apply", str(fabric.specs), "--only", ONLY, *APPROVED)
    assert fabric.redis("leaf0", "HGET", "PORT|swp1", "mtu") == "9000", healed.stdout + healed.stderr
    assert fabric.redis("leaf0", "HGET", "PORT|swp1", "description") == "touched"
    take_over(fabric)
    print("applied, in sync, drifted, healed and taken over: 4 switches")


def take_over(fabric):
    """Specs that were imported from a running switch change nothing on it, and see what others change."""
    folder = fabric.folder / "imported"
    folder.mkdir()
    config = folder / "config_db.json"
    config.write_text(json.dumps(fabric.dump("leaf0")))
    draft = fabric.run("sonic", "import", str(config), "--draft")
    assert draft.returncode == 0, draft.stderr
    (folder / "switch.yaml").write_text(re.sub(r"redis: \"[^\"]*\"", f'redis: "{fabric.folder}/leaf0.sock"', draft.stdout))
    plan = json.loads(fabric.run("plan", str(folder / "switch.yaml"), "-o", "json").stdout)
    assert plan["summary"]["changes"] == 0, plan
    fabric.redis("leaf0", "HSET", "VLAN|Vlan7", "vlanid", "8")
    plan = json.loads(fabric.run("plan", str(folder / "switch.yaml"), "-o", "json").stdout)
    paths = [change["path"] for step in plan["steps"] for change in step["changes"]]
    assert paths == ["raw[sonic][VLAN|Vlan7 vlanid]"], paths


def main():
    lockstep, sources = sys.argv[1:3]
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        print("not tested: needs redis-server and redis-cli")
        return 77
    with tempfile.TemporaryDirectory(prefix="lockstep-sonic-") as folder:
        fabric = Fabric(lockstep, sources, folder)
        try:
            check(fabric, sources)
        finally:
            fabric.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
