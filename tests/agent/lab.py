"""For tests of one real lockstep-agent: its certificates, its process, its journal, and a client of its own (Python's ssl and
plain text), none of it Lockstep's code. run.sh gives the script its namespaces and a folder."""
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import demands
from demands import demand, run, step

PATIENCE_S = 60  # a machine under load, and an agent with sanitizers; reached only where a test fails
BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def until(what, holds):
    demands.until(PATIENCE_S, what, holds)


class Lab:
    def __init__(self, lockstep, program, work):
        self.program, self.work = program, pathlib.Path(work)
        self.journal = self.work / "journal"
        self.journal.mkdir(mode=0o700)
        ca = str(self.work / "ca")
        run(lockstep, "ca", "init", ca, "--cluster", "lab")
        for role, name in ("device", "gpu1"), ("controller", "ops"), ("reader", "grafana"):
            run(lockstep, "ca", "issue", ca, "--role", role, "--name", name, "--ip", "127.0.0.1", "--out", str(self.work))
        socket.sethostname("gpu1")  # whom the host policy lets specs change
        run("ip", "link", "set", "lo", "up")
        self.said = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)  # what systemd would hear
        self.said.bind(str(self.work / "notify"))
        self.messages = []
        self.process = None
        threading.Thread(target=self.listen, daemon=True).start()

    def configure(self, listen, certificate="gpu1.crt", text=None):
        (self.work / "agent.yaml").write_text(text or f"""apiVersion: lockstep.dev/v1alpha1
kind: AgentConfig
spec:
  cluster: lab
  device: gpu1
  listen: "{listen}"
  tls: {{ca: ca/ca.crt, certificate: {certificate}, key: gpu1.key}}
  journal: {self.journal}
""")

    def start(self, **environment):
        self.log = self.work / "agent.log"
        self.messages = []
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen([self.program, "--config", self.work / "agent.yaml", "run"], stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=out,
                                            env=dict(os.environ, NOTIFY_SOCKET=str(self.work / "notify"), **environment))

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE_S)
        demand(code == (0 if how == signal.SIGTERM else -how), "the agent ended with", code, self.logged())

    def ended(self):
        self.process.wait(PATIENCE_S)
        return self.process.returncode

    def logged(self):
        return self.log.read_text(errors="replace")

    def listen(self):
        while True:  # as systemd does: whoever tells it something waits while nobody reads
            message = self.said.recv(4096).decode()
            self.messages.append(message)

    def heard(self, part):
        return any(part in one for one in self.messages)

    def status(self):
        done = subprocess.run([self.program, "--config", self.work / "agent.yaml", "status"], capture_output=True, text=True)
        return done.stdout + done.stderr

    def arm(self, port, mtu, before, in_s):
        """What an agent leaves that was killed after it had set the port's MTU."""
        change = {"path": f"interface[{port}]/mtu", "was": before, "want": mtu}
        undo = {"path": f"interface[{port}]/mtu", "was": mtu, "want": before}
        armed = {"transaction": "t1", "driver": "linux", "ticket": "t1-1", "changes": [change], "undo": [undo],
                 "undoAfterMs": int(in_s * 1000), "deadlineNs": time.clock_gettime_ns(time.CLOCK_BOOTTIME) + int(in_s * 1e9),
                 "bootId": BOOT_ID, "rollingBack": False, "rollingBackSinceNs": 0}
        (self.journal / "journal.json").write_text(json.dumps({"version": 1, "epoch": 1, "settled": [], "armed": armed}))

    def is_armed(self):
        return "armed" in json.loads((self.journal / "journal.json").read_text())

    def connect(self, port, who="ops", address="127.0.0.1", source="127.0.0.1"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(self.work / f"{who}.crt", self.work / f"{who}.key")
        plain = socket.create_connection((address, port), PATIENCE_S, (source, 0))
        return context.wrap_socket(plain)

    def hello(self, port, **where):
        """The status of its answer, over a new connection."""
        with self.connect(port, **where) as client:
            client.sendall(b"POST /v1/hello HTTP/1.1\r\nHost: gpu1\r\nContent-Length: 2\r\n\r\n{}")
            return int(client.recv(4096).split(b" ")[1])


def mtu_of(port):
    return json.loads(run("ip", "-j", "link", "show", "dev", port))[0]["mtu"]
