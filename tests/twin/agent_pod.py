"""For tests of a twin whose devices are behind agents: runs commands, stops and kills controllers and agents, and reads the
devices with ip(8), sysctl(8), nft(8) and FRR's vty, not with Lockstep. agents_*.sh make the twin."""
import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from demands import demand, run, step, until

HOSTS = ["gpu1", "gpu2", "gpu3", "gpu4"]
LEAVES = ["leaf0", "leaf1"]
SPINES = ["spine0", "spine1"]
DEVICES = HOSTS + LEAVES + SPINES
UNDO_AFTER_S = 30  # in which an agent rolls back what nobody settles
RUN_ENDS_S = 120  # longer is a hang: far beyond the slowest run
IDLE = "net.ipv4.tcp_slow_start_after_idle"


def die_with_parent():
    # A stopped apply that outlived its test would keep the lock, and `twin down` out.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Controller:
    """An apply that runs."""

    def __init__(self, pod, environment=None):
        self.out = open(pod.work / "controller.out", "w+")
        self.process = subprocess.Popen(pod.apply_command(), stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.out,
                                        start_new_session=True, env=dict(os.environ, **(environment or {})), preexec_fn=die_with_parent)

    def runs(self):
        return self.process.poll() is None

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        return self.process.wait()

    def ended(self):
        """(exit code, output)"""
        try:
            code = self.process.wait(RUN_ENDS_S)
        except subprocess.TimeoutExpired:
            self.kill()
            demand(False, "an apply hangs:", self.text())
        return code, self.text()

    def text(self):
        return pathlib.Path(self.out.name).read_text()


class Pod:
    def __init__(self, lockstep, folder, run_folder, devices=None):
        self.devices = devices or DEVICES
        self.lockstep, self.folder = lockstep, pathlib.Path(folder)
        self.agent_program = str(pathlib.Path(os.path.realpath(lockstep)).parent / "lockstep-agent")
        self.supervisor = pathlib.Path(run_folder) / ".supervisor"
        self.run_folder = pathlib.Path(run_folder)
        self.id, self.work = self.run_folder.name, self.folder.parent

    # What the specs say; all hosts in one wave, so that they are armed together.
    def say(self, mtu=None, idle=None, paths=None):
        def put(name, pattern, value):
            file = self.folder / name
            text, count = re.subn(pattern, lambda m: m.group(1) + str(value), file.read_text())
            demand(count == 1, "no", pattern, "in", name)
            file.write_text(text)
        if mtu is not None:
            put("fabric.yaml", r"(mtu: \{host: )\d+", mtu)
        if idle is not None:
            put("hosts.yaml", r"(tcp_slow_start_after_idle: )\d", idle)
        if paths is not None:
            put("fabric.yaml", r"(ecmp: \{maxPaths: )\d+", paths)

    def one_wave(self):
        for file in self.folder.glob("*.yaml"):
            file.write_text(re.sub(r'waves: \[.*\]', 'waves: ["100%"]', file.read_text()))

    # Commands
    def apply_command(self):
        return [self.lockstep, "apply", "--twin", "--yes", "--no-measure", "--approve", "approval:traffic,drain", str(self.folder)]

    def command(self, *words, environment=None):
        done = subprocess.run([self.lockstep, *words, str(self.folder)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=dict(os.environ, **(environment or {})), timeout=RUN_ENDS_S)
        return done.returncode, done.stdout

    def apply(self, environment=None):
        return self.command(*self.apply_command()[1:-1], environment=environment)

    def drift(self):
        return self.command("drift", "--twin")

    def converges(self, within_s=0):
        """within_s: how long drift may differ after the apply, as neighbours of a machine that was made anew hear of it by LLDP
        only when its lldpd sends next."""
        code, text = self.apply()
        demand(code == 0, "apply ended with", code, text)
        until(within_s, lambda: f"drift: {self.drift()}", lambda: self.drift()[0] == 0, 0.5)
        demand(not self.armed(), "armed in sync:", self.armed())

    # Agents
    def agent_folder(self, device):
        return self.supervisor / "agents" / device

    def agent(self, device, *words):
        done = subprocess.run([self.agent_program, "--config", str(self.agent_folder(device) / "agent.yaml"), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def journal(self, device):
        return json.loads((self.agent_folder(device) / "journal" / "journal.json").read_text())

    def armed(self):
        """{device: its armed transaction}"""
        found = {one: self.journal(one).get("armed") for one in self.devices}
        return {one: armed for one, armed in found.items() if armed}

    def agent_pid(self, device):
        """0: it does not run."""
        config = str(self.agent_folder(device) / "agent.yaml").encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                if config in words and b"run" in words and b"Z" not in (process / "stat").read_bytes().rsplit(b")")[-1].split()[:1]:
                    return int(process.name)
            except OSError:
                pass
        return 0

    def kill_agent(self, device):
        pid = self.agent_pid(device)
        if pid:
            os.kill(pid, signal.SIGKILL)
        return pid

    def restart_agent(self, device):
        """What the supervisor answers."""
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(20)
            control.connect(str(self.supervisor / "control"))
            control.sendall(json.dumps({"op": "restart", "device": device, "daemon": "agent"}).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                more = control.recv(4096)
                if not more:
                    break
                answer += more
        return json.loads(answer)

    def armed_controller(self, says, ready=None):
        """An apply that was stopped while transactions were armed: by default one of at least 2 changes on each host. `says`:
        called before each try with its number, to state a change; a try that was missed is let through."""
        ready = ready or (lambda armed: all(len(armed[one]["changes"]) > 1 if one in armed else False for one in HOSTS))
        for number in range(8):
            says(number)
            controller = Controller(self)
            while controller.runs():
                if ready(self.armed()):
                    controller.stop()
                    time.sleep(0.5)  # for calls that are under way
                    if ready(self.armed()):
                        return controller
                    controller.go_on()
                    break
                time.sleep(0.001)
            code, text = controller.ended()
            demand(code == 0, "apply ended with", code, text)
        demand(False, "the armed moment was missed 8 times")

    def answers(self, device):
        """Whether the agent's port takes a connection from where the controller sits."""
        address = self.address(device)
        done = subprocess.run(["ip", "netns", "exec", self.netns("@controller"), "timeout", "1", "bash", "-c",
                               f"exec 3<>/dev/tcp/{address}/7443"], capture_output=True)
        return done.returncode == 0

    def address(self, device):
        config = (self.agent_folder(device) / "agent.yaml").read_text()
        return re.search(r"listen: \"\[(.*)\]:7443", config)[1]

    # Devices
    def netns(self, device):
        return f"ls-{self.id}-{device}"

    def inside(self, device, *command):
        return run("ip", "netns", "exec", self.netns(device), *command)

    def ip(self, device, *words):
        return run("ip", "-n", self.netns(device), *words)

    def mtu(self, device, port="rail0"):
        return json.loads(self.ip(device, "-j", "link", "show", "dev", port))[0]["mtu"]

    def sysctl(self, device, *names):
        return self.inside(device, "sysctl", "-n", *names).strip()

    def vty(self, device, daemon, command):
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(10)
            channel.connect(str(self.run_folder / device / f"{daemon}.vty"))
            for words in ("enable", command):
                channel.sendall(words.encode() + b"\0")
                answer = b""
                while not (len(answer) >= 4 and answer[-4:-1] == b"\0\0\0"):
                    answer += channel.recv(65536)
        return answer[:-4].decode()

    def paths(self, device):
        found = re.search(r"maximum-paths (\d+)", self.vty(device, "bgpd", "show running-config"))
        return int(found[1]) if found else None

    def state(self, device):
        """{what: value} of all that a device is set to, without its management port: links, addresses, rules, queues, sysctls,
        for a switch FRR's configuration, and for a host its routes (a switch learns them) but for the MTU that they have
        while a link's is being changed."""
        out = {}
        for link in json.loads(self.ip(device, "-j", "link", "show")):
            for key in ("mtu", "txqlen", "address", "qdisc", "gso_max_size", "ifalias"):
                out[f"link {link['ifname']} {key}"] = link.get(key)
            out[f"link {link['ifname']} up"] = "UP" in link["flags"]
        for link in json.loads(self.ip(device, "-j", "address", "show")):
            out[f"addresses {link['ifname']}"] = sorted(f"{one['local']}/{one['prefixlen']}" for one in link["addr_info"]
                                                        if one["local"][:5] != "fe80:")
        out["rules"] = json.loads(self.ip(device, "-j", "rule", "show"))
        if device in HOSTS:
            out["routes"] = sorted(re.sub(r" mtu lock \d+", "", " ".join(one.split())) for one in
                                   self.ip(device, "route", "show", "table", "all").splitlines() if "mgmt0" not in one)
        out["queues"] = sorted(one for one in self.inside(device, "tc", "qdisc", "show").splitlines() if "mgmt0" not in one)
        for daemon in ("bgpd", "bfdd") if device not in HOSTS else ():
            out[f"{daemon}"] = self.vty(device, daemon, "show running-config")
        done = subprocess.run(["ip", "netns", "exec", self.netns(device), "sysctl", "-a", "-r", r"^net\.(ipv4|ipv6)\."],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in done.stdout.splitlines():
            name, _, value = line.partition(" = ")
            out[f"sysctl {name}"] = value
        return {what: value for what, value in out.items() if "mgmt0" not in what}


def differing(one, other):
    """{what: (its value in one, its value in the other)}"""
    return {what: (one.get(what), other.get(what)) for what in one.keys() | other.keys() if one.get(what) != other.get(what)}
