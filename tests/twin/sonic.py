#!/usr/bin/env python3
"""sonic.py LOCKSTEP SOURCES: a twin whose leaf switches run SONiC: a real Redis and the stand-in for SONiC's daemons.
Applied, in sync, with traffic from host to host through the leaves; each fault of SONiC is found and ended; nothing is left
behind. The oracles are redis-cli, ip, vtysh, ping and ps. Exit code 77: this machine can't have it."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

APPROVED = ["--yes", "--no-measure", "--approve", "far-end,drain,approval:traffic"]
AT_ONCE = """apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: at-once}
spec: {selector: {}}
"""
LEAVES = ["leaf0", "leaf1"]


class Pod:
    def __init__(self, lockstep, sources, folder):
        self.lockstep, self.specs = lockstep, Path(folder) / "sonic-pod"
        self.environment = {**os.environ, "LOCKSTEP_STATE_DIR": f"{folder}/state"}
        shutil.copytree(Path(sources) / "examples/rail-pod", self.specs)
        (self.specs / "slo.yaml").unlink()
        (self.specs / "policy.yaml").write_text(AT_ONCE)
        self.edit("devices.yaml", r"gpu\[1-4\]", "gpu[1-2]")
        self.edit("devices.yaml", r"(?s)(names: leaf.*?drivers: )\[linux, frr\]", r"\1[sonic]")
        self.edit("fabric.yaml", r"gpu\[1-4\]", "gpu[1-2]")
        self.edit("fabric.yaml", r"swp\[1-4\]", "swp[1-2]")
        self.edit("fabric.yaml", r"    bfd: .*\n", "")  # the sonic driver sets none

    def edit(self, file, pattern, text):
        before = (self.specs / file).read_text()
        after = re.sub(pattern, text, before)
        assert after != before, (file, pattern)
        (self.specs / file).write_text(after)

    def run(self, *words):
        return subprocess.run([self.lockstep, *words], capture_output=True, text=True, env=self.environment, timeout=300)

    def good(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, (words, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def document(self, *words):
        done = self.run(*words, "-o", "json")
        return json.loads(done.stdout)

    def status(self):
        return self.document("twin", "status", str(self.specs))

    def daemon(self, device, name):
        return next(one for one in self.status()["daemons"] if (one["device"], one["name"]) == (device, name))

    def breaks(self, fault, *words):
        return self.good("twin", "break", str(self.specs), fault, *words)

    def apply(self):
        return self.run("apply", "--twin", str(self.specs), *APPROVED)

    def changes(self):
        document = self.document("plan", "--twin", str(self.specs))
        assert document["kind"] == "Plan", document
        return document["summary"]["changes"]

    def drift(self):
        """What differs, as (device, path): settings, and effects that are missing."""
        items = self.document("drift", "--twin", str(self.specs))["items"]
        return sorted((one["device"], one["path"]) for one in items if one["state"] in ("drifted", "effect"))

    def inside(self, device, *words):
        return subprocess.run(["ip", "netns", "exec", f"ls-{self.id}-{device}", *words], capture_output=True, text=True, timeout=60)

    def redis(self, device, database, *words):
        socket = f"/run/lockstep/twin/{self.id}/{device}/redis.sock"
        return subprocess.run(["redis-cli", "-s", socket, "-n", str(database), *words], capture_output=True, text=True).stdout.strip()

    def address(self, device, port):
        links = json.loads(self.inside(device, "ip", "-j", "-4", "address", "show", "dev", port).stdout)
        return links[0]["addr_info"][0]["local"]

    def link(self, device, port):
        return json.loads(self.inside(device, "ip", "-j", "link", "show", "dev", port).stdout)[0]

    def pings(self, port, to, size="8972"):
        return self.inside("gpu1", "ping", "-c", "1", "-W", "2", "-M", "do", "-s", size, "-I", port, to).returncode == 0


def eventually(holds, what, patience=40):
    until = time.monotonic() + patience
    while True:
        seen = holds()
        if seen:
            return seen
        assert time.monotonic() < until, f"{what}: not within {patience} s"
        time.sleep(0.2)  # a poll


def finds(pod, wanted):
    """All that differs, once this does."""
    def found():
        differs = pod.drift()
        return differs if wanted in differs else None
    return eventually(found, f"{wanted} is found")


def in_sync(pod):
    eventually(lambda: pod.drift() == [], "in sync again")


def needs_redis(pod):
    """Where redis-server is missing, that is said before anything is made."""
    script = 'mount --bind /dev/null "$(readlink -f /usr/bin/redis-server)" && exec "$@"'
    words = ["unshare", "-m", "sh", "-c", script, "sh", pod.lockstep, "twin", "up", str(pod.specs)]
    done = subprocess.run(words, capture_output=True, text=True, env=pod.environment)
    assert done.returncode == 1 and "apt-get install redis-server" in done.stderr, done.stdout + done.stderr
    assert "no twin" in pod.run("twin", "status", str(pod.specs)).stderr


def brought_up(pod):
    pod.id = json.loads(pod.good("twin", "up", str(pod.specs), "-o", "json"))["id"]
    for leaf in LEAVES:
        for name in ("redis-server", "sonic-stand-in", "bgpd", "lldpd"):
            assert pod.daemon(leaf, name)["life"] == "running", (leaf, name)
    assert pod.redis("leaf0", 4, "GET", "CONFIG_DB_INITIALIZED") == "1"
    assert pod.redis("leaf0", 4, "HGET", "DEVICE_METADATA|localhost", "type") == "LeafRouter"
    assert pod.redis("leaf0", 4, "HGET", "PORT|swp1", "admin_status") == "down"
    assert "UP" not in pod.link("leaf0", "swp1")["flags"]
    named = Path(f"/proc/{pod.daemon('leaf0', 'sonic-stand-in')['pid']}/comm").read_text().strip()
    assert named == "sonic-stand-in", named
    listening = pod.inside("leaf0", "ss", "-Hltn").stdout
    assert ":6379" not in listening, listening
    assert not any(one["name"] == "redis-server" for one in pod.status()["daemons"] if one["device"] not in LEAVES)


def applied(pod):
    done = pod.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    assert pod.changes() == 0, "a second plan is not empty"
    in_sync(pod)
    leaf = pod.link("leaf0", "up0")
    assert leaf["mtu"] == 9216 and "UP" in leaf["flags"], leaf
    sessions = json.loads(pod.good("twin", "exec", str(pod.specs), "leaf0", "vtysh", "-c", "show bgp summary json"))
    states = {name: peer["state"] for name, peer in sessions["ipv4Unicast"]["peers"].items()}
    assert states == {"up0": "Established", "up1": "Established"}, states
    assert pod.redis("leaf0", 6, "HGET", "NEIGH_STATE_TABLE|up0", "state") == "Established"
    assert pod.redis("leaf0", 0, "HGET", "LLDP_ENTRY_TABLE:swp1", "lldp_rem_sys_name") == "gpu1"
    # Over leaf0 alone, and over leaf0, a spine switch and leaf1.
    for rail in ("rail0", "rail1"):
        assert pod.pings("rail0", pod.address("gpu2", rail)), f"no way from gpu1 to gpu2's {rail}"
    assert not pod.pings("rail0", pod.address("gpu2", "rail0"), "8973"), "a packet beyond the MTU passed"


def ignores_a_row(pod):
    """The row is there, and the session is not: both ends say so. The neighbor is deleted behind Lockstep's back first."""
    for name in ("BGP_NEIGHBOR_AF|default|up0|ipv4_unicast", "BGP_NEIGHBOR|default|up0"):
        assert pod.redis("leaf0", 4, "DEL", name) == "1"
    eventually(lambda: pod.redis("leaf0", 6, "EXISTS", "NEIGH_STATE_TABLE|up0") == "0", "the stand-in follows")
    pod.breaks("sonic-ignores-row", "leaf0", "BGP_NEIGHBOR")
    done = pod.apply()
    assert done.returncode != 0, "apply found nothing wrong: " + done.stdout
    assert pod.redis("leaf0", 4, "HGET", "BGP_NEIGHBOR|default|up0", "peer_type") == "external"
    found = pod.drift()
    assert {("leaf0", "bgp/neighbor[up0]/session"), ("spine0", "bgp/neighbor[down0]/session")} <= set(found), found
    pod.breaks("sonic-ignores-row", "leaf0", "BGP_NEIGHBOR", "off")
    in_sync(pod)
    print("sonic-ignores-row:", *found)


def ignores_what_no_session_shows(pod):
    """An MTU, and one address of several: what the daemons have passed on is held against the rows."""
    address = pod.redis("leaf0", 4, "KEYS", "INTERFACE|swp1|*").splitlines()[0]
    passed_on = "INTF_TABLE:" + address.split("|", 1)[1].replace("|", ":")
    pod.redis("leaf0", 4, "HSET", "PORT|up0", "mtu", "9100")
    pod.redis("leaf0", 4, "DEL", address)
    eventually(lambda: pod.link("leaf0", "up0")["mtu"] == 9100 and pod.redis("leaf0", 0, "EXISTS", passed_on) == "0", "the stand-in follows")
    for table, row in (("PORT", ("PORT|up0", "mtu", "9216")), ("INTERFACE", (address, "NULL", "NULL"))):
        pod.breaks("sonic-ignores-row", "leaf0", table)
        pod.redis("leaf0", 4, "HSET", *row)
        found = finds(pod, ("leaf0", "switch-config/taken-over"))
        assert ("leaf0", "interface[up0]/mtu") not in found, found
        pod.breaks("sonic-ignores-row", "leaf0", table, "off")
        print("sonic-ignores-row", table + ":", *found)
    in_sync(pod)


def reports_up(pod):
    pod.breaks("sonic-reports-up", "leaf0", "swp1")
    eventually(lambda: "UP" not in pod.link("leaf0", "swp1")["flags"], "swp1 goes down")
    assert pod.redis("leaf0", 0, "HGET", "PORT_TABLE:swp1", "oper_status") == "up"
    found = finds(pod, ("gpu1", "interface[rail0]/carrier"))
    assert ("leaf0", "interface[swp1]/carrier") not in found, found
    pod.breaks("sonic-reports-up", "leaf0", "swp1", "off")
    in_sync(pod)
    print("sonic-reports-up:", *found)


def dies(pod):
    """Of two neighbors that go, one is carried. When their rows are back, all is as it should be on leaf0, by what it says."""
    pod.breaks("sonic-stand-in-dies", "leaf0")
    rows = [name for i in (0, 1) for name in (f"BGP_NEIGHBOR|default|up{i}", f"BGP_NEIGHBOR_AF|default|up{i}|ipv4_unicast")]
    for name in rows:
        assert pod.redis("leaf0", 4, "COPY", name, name, "DB", "9") == "1"
    pod.redis("leaf0", 4, "DEL", *rows)
    eventually(lambda: pod.daemon("leaf0", "sonic-stand-in")["life"] == "ended", "the stand-in dies")
    shown = pod.run("twin", "status", str(pod.specs))
    assert shown.returncode == 2 and re.search("leaf0 +sonic-stand-in .*ended", shown.stdout), shown.stdout
    neighbors = pod.good("twin", "exec", str(pod.specs), "leaf0", "vtysh", "-c", "show running-config")
    assert "neighbor up0 interface" not in neighbors and "neighbor up1 interface" in neighbors, neighbors
    for name in rows:  # they are back, and nobody carries them
        assert pod.redis("leaf0", 9, "COPY", name, name, "DB", "4") == "1"
    found = finds(pod, ("spine0", "bgp/neighbor[down0]/session"))
    assert all(device != "leaf0" for device, _ in found), found
    pod.breaks("sonic-stand-in-dies", "leaf0", "off")
    in_sync(pod)
    print("sonic-stand-in-dies:", *found)


def loses_its_configuration(pod):
    """A SONiC switch that lost its configuration, as after `config reload` of an empty file, is built anew."""
    pod.redis("leaf1", 4, "FLUSHDB")
    eventually(lambda: pod.redis("leaf1", 4, "GET", "CONFIG_DB_INITIALIZED") == "1", "CONFIG_DB is filled again")
    eventually(lambda: "UP" not in pod.link("leaf1", "up0")["flags"], "the switch is bare")
    assert pod.changes() > 10
    done = pod.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    in_sync(pod)
    assert pod.pings("rail1", pod.address("gpu2", "rail1"))


def refused(pod):
    for words, why in ((["sonic-reports-up", "spine0", "down0"], "drivers: \\[sonic\\]"), (["sonic-ignores-row", "leaf0", "QUEUE"], "carries no 'QUEUE'"),
                       (["killed-daemon", "leaf0", "bgpd"], "nothing would start the daemon again")):
        done = pod.run("twin", "break", str(pod.specs), *words)
        assert done.returncode == 1 and re.search(why, done.stdout + done.stderr), (words, done.stdout + done.stderr)


def grows(pod):
    """A host is added while the twin is up: its leaves have a port more, and keep what they have."""
    before = pod.daemon("leaf0", "sonic-stand-in")["pid"]
    pod.edit("devices.yaml", r"gpu\[1-2\]", "gpu[1-3]")
    pod.edit("fabric.yaml", r"gpu\[1-2\]", "gpu[1-3]")
    pod.edit("fabric.yaml", r"swp\[1-2\]", "swp[1-3]")
    pod.good("twin", "up", str(pod.specs))
    assert pod.daemon("leaf0", "sonic-stand-in")["pid"] == before
    eventually(lambda: pod.redis("leaf0", 4, "HGET", "PORT|swp3", "admin_status") == "down", "PORT has the new port")
    done = pod.apply()
    assert done.returncode == 0, done.stdout + done.stderr
    in_sync(pod)
    assert pod.pings("rail0", pod.address("gpu3", "rail0"))


def taken_down(pod):
    run_dir = f"/run/lockstep/twin/{pod.id}"
    assert subprocess.run(["pgrep", "-f", run_dir + "/"], capture_output=True).returncode == 0
    pod.good("twin", "down", str(pod.specs))
    assert subprocess.run(["pgrep", "-f", run_dir + "/"], capture_output=True).returncode == 1, "processes are left"
    assert not os.path.exists(run_dir)
    assert f"ls-{pod.id}-" not in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout


def main():
    lockstep, sources = sys.argv[1:3]
    lacks = [program for program in ("redis-server", "redis-cli", "/usr/lib/frr/bgpd", "/usr/sbin/lldpd", "ping") if not shutil.which(program)]
    if os.geteuid() != 0:
        lacks.append("root")
    if lacks:
        print("not tested: needs", *lacks)
        return 77 if os.environ.get("CI", "false") == "false" else 1
    with tempfile.TemporaryDirectory(prefix="lockstep-sonic-twin-") as folder:
        pod = Pod(lockstep, sources, folder)
        try:
            for step in (needs_redis, brought_up, applied, refused, ignores_a_row, ignores_what_no_session_shows, reports_up, dies, loses_its_configuration, grows, taken_down):
                begin = time.monotonic()
                step(pod)
                print(f"{step.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
        finally:
            pod.run("twin", "down", "--force", str(pod.specs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
