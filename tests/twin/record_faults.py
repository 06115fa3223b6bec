#!/usr/bin/env python3
"""record_faults.py LOCKSTEP FOLDER: records what `drift` finds after each fault of `lockstep twin break`, alone and in
pairs, on a twin of examples/rail-pod, in the form of tests/cases/causes/rail-pod.txt (tests/unit/causes). Needs root, and
about an hour and a half. FOLDER: gets the copy of the specs of the twin. Reports, and leaves out, a case whose faults can't
all be made."""
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

# Two of each fault: a pair combines the first of one with the second of another.
FAULTS = [
    ("address-removed gpu1 rail0", "address-removed gpu3 rail1"),
    ("bgp-neighbor-shutdown leaf0 up1", "bgp-neighbor-shutdown spine0 down1"),
    ("ecmp-off leaf0", "ecmp-off leaf1"),
    ("hash-policy spine0", "hash-policy leaf1"),
    ("hung-daemon leaf0 bgpd", "hung-daemon spine1 bgpd"),
    ("hung-daemon leaf1 bfdd", "hung-daemon spine0 bfdd"),
    ("hung-daemon spine0 zebra", "hung-daemon leaf0 zebra"),
    ("hung-daemon gpu2 lldpd", "hung-daemon leaf1 lldpd"),
    ("killed-daemon leaf0 bgpd", "killed-daemon spine1 bgpd"),
    ("killed-daemon leaf1 bfdd", "killed-daemon spine0 bfdd"),
    ("killed-daemon spine1 zebra", "killed-daemon leaf1 zebra"),
    ("killed-daemon leaf1 lldpd", "killed-daemon gpu4 lldpd"),
    ("link-down gpu2 rail1", "link-down leaf0 up0"),
    ("link-flap leaf0 up1 3", "link-flap leaf1 swp1 3"),
    ("lost-nexthop leaf0", "lost-nexthop leaf1"),
    ("miscabled leaf0 up0 leaf1 up0", "miscabled leaf1 swp3 leaf1 swp4"),
    ("mtu gpu1 rail0", "mtu leaf1 up1"),
    ("offload gpu1 rail0 tso on", "offload gpu4 rail1 gso on"),
    ("slow-link leaf1 up0", "slow-link gpu3 rail0"),
    ("sysctl gpu3 net.ipv4.tcp_mtu_probing 1", "sysctl leaf0 net.ipv4.ip_forward 0"),
    ("wrong-address leaf1 swp2", "wrong-address gpu4 rail0"),
]
# BGP's hold time is 9 s in a twin; the sessions over a flapping link are up again by then.
SETTLE_S = 11
LIFTED = "approval:traffic,drain,gate"


class Pod:
    def __init__(self, lockstep, folder):
        self.lockstep = lockstep
        self.specs = Path(folder) / "rail-pod"
        shutil.copytree(Path(__file__).parents[2] / "examples/rail-pod", self.specs, dirs_exist_ok=True)

    def run(self, *words):
        return subprocess.run([self.lockstep, *words], capture_output=True, text=True, timeout=300)

    def apply(self):
        return self.run("apply", self.specs, "--twin", "--yes", "--no-measure", "--partial", "--approve", LIFTED)

    def drift(self):
        return json.loads(self.run("drift", self.specs, "--twin", "-o", "json").stdout)

    def fresh(self):
        self.run("twin", "down", self.specs)
        self.run("twin", "up", self.specs, "--link-rate", "200Mbps")
        self.heal([])

    def heal(self, faults):
        for fault in faults:  # the same command again reverts this fault
            if fault.startswith("miscabled"):
                self.break_it(fault)
        for _ in range(5):
            self.apply()
            time.sleep(1)
            report = self.drift()
            if report["summary"]["drifted"] == 0 and not report["unobserved"]:
                return
        self.fresh()

    def break_it(self, fault):
        name, *words = fault.split()
        return self.run("twin", "break", self.specs, name, *words)


def lines(faults, report):
    out = ["== " + " + ".join(faults)]
    for item in report["items"]:
        if item["state"] in ("drifted", "effect"):
            values = [json.dumps(item[key], ensure_ascii=False) for key in ("want", "have")]
            out.append("\t".join(["=", item["device"], item["path"], item["state"], *values]))
    for one in report["unobserved"]:
        out.append("\t".join(["?", one["device"], one.get("path", ""), one["why"]]))
    return out


def main():
    pod = Pod(*sys.argv[1:3])
    cases = [[fault] for both in FAULTS for fault in both]
    cases += [[one[0], other[1]] for i, one in enumerate(FAULTS) for other in FAULTS[i:]]
    pod.fresh()
    for faults in cases:
        made = [pod.break_it(fault) for fault in faults]
        time.sleep(1 if faults[-1].startswith("link-flap") else SETTLE_S)
        if all(one.returncode == 0 for one in made):
            print("\n".join(lines(faults, pod.drift())), flush=True)
        else:
            print("left out:", faults, [one.stderr.strip() for one in made], file=sys.stderr)
        pod.heal(faults)
    pod.run("twin", "down", pod.specs)


main()
