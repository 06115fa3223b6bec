"""Faults of agents by name: agents_faults.sh makes the twin and states the purpose.
Usage: agents_faults.py LOCKSTEP POD RUN_FOLDER, with LOCKSTEP_STATE_DIR set."""
import json
import pathlib
import re
import subprocess
import sys
import time

from agent_pod import DEVICES, IDLE, Pod, demand, differing, run, step, until

# By whoever notices first: the kernel's neighbour discovery, the connection, or the loop that waits for it.
UNREACHED = "No route to host|the deadline passed|no answer in time"
DELAY_MS = 150  # each way; far above what two namespaces on one machine take


def link_is_up(pod, device):
    return "UP" in json.loads(pod.ip("@controller", "-j", "link", "show", "dev", f"to-{device}"))[0]["flags"]


def loses(pod, device):
    """By both hooks of the bridge's port."""
    return all("lockstep-loss" in pod.inside("@controller", "tc", "filter", "show", "dev", f"to-{device}", hook)
               for hook in ("ingress", "egress"))


def process_state(pod, device):
    """As ps(1) has it; "": there is none."""
    pid = pod.agent_pid(device)
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] if pid else ""


def dates(pod, device):
    text = run("openssl", "x509", "-noout", "-startdate", "-enddate", "-dateopt", "iso_8601", "-in",
               str(pod.agent_folder(device) / "ca.crt"))
    return dict(line.split("=") for line in text.splitlines())


def authority_is(pod, device, what):
    now = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime())
    found = dates(pod, device)
    return {"early": now < found["notBefore"], "late": found["notAfter"] < now,
            "right": found["notBefore"] <= now <= found["notAfter"]}[what]


def is_revoked(pod, device):
    serial = run("openssl", "x509", "-noout", "-serial", "-in", str(pod.agent_folder(device) / f"{device}.crt")).split("=")[1].strip()
    return serial in run("openssl", "crl", "-noout", "-text", "-in", str(pod.supervisor / "pki" / "ca.crl"))


def connects_in(pod, device):
    """Seconds that a TCP connection to the agent takes: one way there and one back."""
    script = ("import socket, sys, time; began = time.monotonic(); socket.create_connection((sys.argv[1], 7443), 20).close(); "
              "print(time.monotonic() - began)")
    return float(pod.inside("@controller", sys.executable, "-c", script, pod.address(device)))


class Fault:
    """`says`: what drift must say about the device (a regular expression); none: it is in sync all the same. `shows`, `healed`:
    by something that isn't Lockstep."""

    def __init__(self, device, name, argument, says, shows, healed):
        self.device, self.name, self.argument, self.says, self.shows, self.healed = device, name, argument, says, shows, healed

    def make(self, pod, argument=None):
        done = subprocess.run([pod.lockstep, "twin", "break", str(pod.folder), self.name, self.device, argument or self.argument],
                              capture_output=True, text=True)
        print("    " + (done.stdout + done.stderr).strip(), flush=True)
        demand(done.returncode == 0, self.name, "ended with", done.returncode, done.stderr)


ALL_AT_ONCE = [
    Fault("gpu1", "agent-partition", "on", UNREACHED,
          lambda pod, one: not link_is_up(pod, one) and not pod.answers(one), lambda pod, one: link_is_up(pod, one)),
    Fault("gpu2", "agent-killed", "on", "refused",
          lambda pod, one: process_state(pod, one) == "", lambda pod, one: process_state(pod, one) in ("S", "R")),
    Fault("gpu3", "agent-stopped", "on", UNREACHED,
          lambda pod, one: process_state(pod, one) == "T", lambda pod, one: process_state(pod, one) in ("S", "R")),
    Fault("gpu4", "agent-clock", "behind", "refused our certificate",
          lambda pod, one: authority_is(pod, one, "early"), lambda pod, one: authority_is(pod, one, "right")),
    Fault("leaf0", "agent-revoked", "on", "device/leaf0 was revoked",
          is_revoked, lambda pod, one: not is_revoked(pod, one)),
    Fault("leaf1", "agent-loss", "100%", UNREACHED,
          lambda pod, one: loses(pod, one) and not pod.answers(one), lambda pod, one: not loses(pod, one)),
    Fault("spine0", "agent-delay", f"{DELAY_MS}ms", None,
          lambda pod, one: connects_in(pod, one) >= 2 * DELAY_MS / 1000, lambda pod, one: connects_in(pod, one) < DELAY_MS / 1000),
]
# Of the same faults, what does not stop an agent, and a clock that is ahead.
IN_PART = [
    Fault("gpu1", "agent-loss", "10%", None, loses, lambda pod, one: not loses(pod, one)),
    Fault("gpu4", "agent-clock", "ahead", "refused our certificate.*expired",
          lambda pod, one: authority_is(pod, one, "late"), lambda pod, one: authority_is(pod, one, "right")),
]


def drift(pod):
    """(exit code, {device: why it could not be observed})"""
    done = subprocess.run([pod.lockstep, "drift", "--twin", "-o", "json", str(pod.folder)], capture_output=True, text=True)
    report = json.loads(done.stdout)
    return done.returncode, {one["device"]: one["why"] for one in report["unobserved"]}


def is_shown(pod, faults):
    code, why = drift(pod)
    cut = {one.device: one.says for one in faults if one.says}
    demand(code == 3, "drift without", *cut, "ended with", code)
    demand(why.keys() == cut.keys(), "not observed:", why, "and not", cut.keys())
    for device, says in cut.items():
        print(f"    {device}: {why[device]}", flush=True)
        demand(re.search(says, why[device]), device, "does not say", says, "but", why[device])


def heals(pod, faults):
    for one in faults:
        one.make(pod, "off")
        until(20, f"{one.device}: {one.name} is ended", lambda one=one: one.healed(pod, one.device), 0.2)
    until(60, lambda: f"drift: {pod.drift()}", lambda: pod.drift()[0] == 0, 0.2)


def breaks(pod, faults):
    for one in faults:
        one.make(pod)
        demand(one.shows(pod, one.device), one.name, "changed nothing at", one.device)


def next_hops(pod):
    return pod.ip("leaf0", "route", "show", "10.64.0.128/25").count(" dev up")


def listed(pod):
    names = {one["name"] for one in json.loads(run(pod.lockstep, "twin", "break", "--list", "-o", "json"))["faults"]}
    tested = {one.name for one in ALL_AT_ONCE}
    demand({one for one in names if one.startswith("agent-")} == tested, "listed and tested faults of agents differ:", names, tested)


def main():
    pod = Pod(*sys.argv[1:4])
    pod.one_wave()
    pod.converges()
    listed(pod)
    for one in DEVICES:
        demand(connects_in(pod, one) < DELAY_MS / 1000, one, "is slow before anything is broken")
    step("one fault at each device but one")
    breaks(pod, ALL_AT_ONCE)
    step("drift")
    is_shown(pod, ALL_AT_ONCE)
    step("apply of a change to all hosts")
    cut = [one.device for one in ALL_AT_ONCE if one.says]
    before = {one: pod.state(one) for one in cut}
    pod.say(idle=1)
    code, text = pod.apply()
    demand(code == 3, "apply ended with", code, text)
    for one in cut:
        demand(one in text, "apply does not name", one, text)
        demand(not differing(before[one], pod.state(one)), one, "was changed:", differing(before[one], pod.state(one)))
    step("each is ended")
    for one in ALL_AT_ONCE:
        one.make(pod, "off")
    for one in ALL_AT_ONCE:
        until(20, f"{one.device}: {one.name} is ended", lambda one=one: one.healed(pod, one.device), 0.2)
    pod.converges()
    for one in ("gpu1", "gpu2", "gpu3", "gpu4"):
        demand(pod.sysctl(one, IDLE) == "1", one, IDLE, "is", pod.sysctl(one, IDLE))
    step("loss that TCP makes up for, and a clock that is ahead")
    breaks(pod, IN_PART)
    is_shown(pod, IN_PART)
    heals(pod, IN_PART)
    step("a next hop and a connected route that the kernel lost: remedies alone, through the agents")
    pod.ip("gpu1", "route", "del", "10.64.0.0/31", "dev", "rail0")
    run(pod.lockstep, "twin", "break", str(pod.folder), "lost-nexthop", "leaf0")
    demand(next_hops(pod) == 1, "leaf0 has", next_hops(pod), "next hops to the other leaf switch's hosts")
    code, text = pod.apply()
    demand(code == 0, "apply ended with", code, text)
    demand("reinstall-multipath" in text, "apply does not name its remedy:", text)
    demand("restore-connected-route" in text, "apply does not name its remedy:", text)
    demand("10.64.0.0/31" in pod.ip("gpu1", "route", "show", "dev", "rail0", "proto", "kernel"), "gpu1 lacks its connected route")
    until(10, lambda: f"leaf0 has {next_hops(pod)} next hops", lambda: next_hops(pod) == 2, 0.2)


main()
