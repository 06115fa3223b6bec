"""For serve_soak.py: the drifts that it makes on a twin, each with what the service must tell of it. They are made with system
calls, ip(8), tc(8), ethtool(8) and FRR's vty inside the devices' network namespaces, never with Lockstep."""
import ctypes
import dataclasses
import fcntl
import os
import queue
import re
import socket
import struct
import subprocess
import sys
import threading
import time

HOSTS = ["gpu1", "gpu2", "gpu3", "gpu4"]
LEAVES = ["leaf0", "leaf1"]
SPINES = ["spine0", "spine1"]
PORTS = {**{one: ["rail0", "rail1"] for one in HOSTS},
         **{one: ["swp1", "swp2", "swp3", "swp4", "up0", "up1"] for one in LEAVES},
         **{one: ["down0", "down1"] for one in SPINES}}
SIOCSIFMTU, CLONE_NEWNET = 0x8922, 0x40000000


def mtu_of(port):
    return 9000 if port[:3] in ("rai", "swp") else 9216


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.returncode} {done.stdout}{done.stderr}")
    return done.stdout


def ip(words):
    return lambda: call("ip", *words.split())


def parameter(name, value):
    def write():
        with open("/proc/sys/" + name.replace(".", "/"), "w") as file:
            file.write(str(value))
    return write


def set_mtu(port, value):
    def write():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            fcntl.ioctl(one, SIOCSIFMTU, struct.pack("16si12x", port.encode(), value))
    return write


def htb(port, words):
    return lambda: call("tc", "class", "change", "dev", port, *f"{words} burst 64Kb cburst 64Kb".split())


@dataclasses.dataclass
class Drift:
    """What can differ in one place, and how. One of them is there at most once at a time."""
    kind: str
    device: str
    path: str
    have: str                 # as the event has it; a regular expression
    make: object              # called in the device's namespace
    undo: object
    is_call: bool = True      # made by a system call, so that its time is known well; else by a program
    also: list = dataclasses.field(default_factory=list)  # (device, expression of a path) that may differ because of it
    back: object = None       # whether the device is as it was, by the kernel; None: nobody asks
    is_event: bool = True     # the kernel tells of it, so that it is found at once
    ports: set = dataclasses.field(default_factory=set)  # "device:port": what a link that is down there would disturb

    def __post_init__(self):
        of_rails = self.kind in ("route", "rule", "diverted")
        self.ports |= {f"{self.device}:{port}" for port in PORTS[self.device]
                       if of_rails or f"[{port}]" in self.path or f".{port}." in self.path}

    def allows(self, device, path):
        return any(device == one and re.fullmatch(pattern, path) for one, pattern in self.also)


def of_port(device, port):
    yield Drift("mtu", device, f"interface[{port}]/mtu", "8000", set_mtu(port, 8000), set_mtu(port, mtu_of(port)),
                back=lambda: f"mtu {mtu_of(port)} " in call("ip", "link", "show", port))
    yield Drift("offload", device, f"interface[{port}]/offload[gro]", "true", lambda: call("ethtool", "-K", port, "gro", "on"),
                lambda: call("ethtool", "-K", port, "gro", "off"), is_call=False,
                back=lambda: "generic-receive-offload: off" in call("ethtool", "-k", port))


def of_parameter(device, name, value, wanted):
    return Drift("parameter " + name.rsplit(".", 1)[1], device, f"sysctl[{name}]", str(value), parameter(name, value),
                 parameter(name, wanted), is_event=name.endswith(("rp_filter", "forwarding")),
                 back=lambda: open("/proc/sys/" + name.replace(".", "/")).read().strip() == str(wanted))


def of_host(device):
    number = 2 * HOSTS.index(device)
    for rail in (0, 1):
        port, table = f"rail{rail}", 1000 + rail
        leaf, own = f"10.64.0.{128 * rail + number}", f"10.64.0.{128 * rail + number + 1}"
        for name, value, wanted in (("rp_filter", 1, 2), ("arp_ignore", 0, 1), ("arp_announce", 0, 2)):
            yield of_parameter(device, f"net.ipv4.conf.{port}.{name}", value, wanted)
        default = f"default via {leaf} dev {port} table {table} proto 76"
        yield Drift("route", device, f"route[{table}:0.0.0.0/0]", r"\(none\)", ip("route del " + default), ip("route add " + default),
                    is_call=False, back=lambda table=table: "proto 76" in call("ip", "route", "show", "table", str(table)))
        rule = f"pref {table} from {own} lookup {table} protocol 76"
        yield Drift("rule", device, f"rule[{table}]", r"\(none\)", ip("rule del " + rule), ip("rule add " + rule), is_call=False,
                    back=lambda table=table: f"{table}:" in call("ip", "rule", "show"))
        yield Drift("queue", device, f"interface[{port}]/class[6]/max-rate", "2000000",
                    htb(port, "parent 4c53:1 classid 4c53:16 htb prio 0 rate 2Mbit ceil 2Mbit"),
                    htb(port, "parent 4c53:1 classid 4c53:16 htb prio 0 rate 1Mbit ceil 1Mbit"), is_call=False,
                    also=[(device, rf"interface\[{port}\]/class\[[03]\]/share")],
                    back=lambda port=port: "4c53:16 parent 4c53:1 prio 0 rate 1Mbit" in call("tc", "class", "show", "dev", port))
    for name, value, wanted in (("tcp_mtu_probing", 1, 0), ("tcp_slow_start_after_idle", 1, 0)):
        yield of_parameter(device, "net.ipv4." + name, value, wanted)
    extra = f"10.64.9.0/24 via 10.64.0.{number}"
    yield Drift("diverted", device, "diverted[10.64.0.0/16]/sent", r"10\.64\.9\.0/24 via .*", ip("route add " + extra),
                ip("route del " + extra), is_call=False, back=lambda: "10.64.9.0/24" not in call("ip", "route", "show"))


def of_switch(device):
    for port in PORTS[device]:
        yield of_parameter(device, f"net.ipv4.conf.{port}.forwarding", 0, 1)
    for number in range(1, 5):
        address = f"10.64.77.{number}/32"
        yield of_address(device, address)


def of_address(device, address):
    return Drift("address", device, f"interface[lo]/address[{address}]", "present", ip(f"address add {address} dev lo"),
                 ip(f"address del {address} dev lo"), is_call=False,
                 back=lambda: address not in call("ip", "address", "show", "dev", "lo"))


def of_cable(leaf, number):
    """A port that is set down: its neighbour has no carrier, and more follows at both ends."""
    port, host, rail = f"swp{number}", f"gpu{number}", f"rail{LEAVES.index(leaf)}"
    return Drift("link", leaf, f"interface[{port}]/admin", "false", ip(f"link set {port} down"), ip(f"link set {port} up"),
                 is_call=False, ports={f"{host}:{rail}"},
                 also=[(leaf, rf"interface\[{port}\]/.*"), (leaf, r"fib\[.*\]"),
                       (host, rf"interface\[{rail}\]/(carrier|peer)"), (host, r"fib\[.*\]"), (host, r"(diverted|route)\[.*\].*")])


def all_drifts():
    out = []
    for device, ports in PORTS.items():
        for port in ports:
            out += of_port(device, port)
        out += of_host(device) if device in HOSTS else of_switch(device)
    return out + [of_cable(leaf, number) for leaf in LEAVES for number in range(1, 5)]


class Hand:
    """Does things in one device's network namespace, one after the other, on a thread that stays in it."""

    def __init__(self, netns):
        self.netns, self.work = netns, queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        descriptor = os.open("/run/netns/" + self.netns, os.O_RDONLY)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            sys.exit(f"FAILED: setns: {os.strerror(ctypes.get_errno())}")
        while True:
            act, done = self.work.get()
            began = time.time()
            try:
                answer, why = act(), None
            except Exception as error:  # told by whoever asked
                answer, why = None, error
            done(began, time.time(), answer, why)

    def do(self, act, done):
        """done(began, ended, answer, error), on that thread."""
        self.work.put((act, done))

    def now(self, act):
        """Waits for it."""
        there, out = threading.Event(), []

        def done(*what):
            out.extend(what)
            there.set()
        self.do(act, done)
        there.wait(120)
        if not out or out[3]:
            raise RuntimeError(f"{self.netns}: {out[3] if out else 'no answer'}")
        return out[2]
