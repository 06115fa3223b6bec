"""What `lockstep serve` tells systemd, and takes from it. Usage: service_systemd.py LOCKSTEP FOLDER CATALOG, as service_systemd.sh
calls it."""
import ctypes
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from demands import demand, step, until

lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
ANSWER_S = 10  # a read of a busy machine
QUIET_S = 2  # ten times as long as it lets pass between two signs of life here
SLACK_S = 60  # of what takes a second on a machine that is not busy
VALUE = pathlib.Path("/proc/sys/net/ipv4/tcp_fin_timeout")
KINDS = dict(re.findall(r"^-- (\w{32})\nSubject: (.*)", pathlib.Path(sys.argv[3]).read_text(), re.M))


def receiver(path):
    """A socket for datagrams, as systemd has them."""
    pathlib.Path(path).unlink(missing_ok=True)
    out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    out.bind(str(path))
    out.settimeout(SLACK_S)
    return out


def listener(path):
    out = socket.socket(socket.AF_UNIX)
    out.bind(str(path))
    out.listen()
    return out


def entry(datagram):
    """Of the journal's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL); no field here has several lines."""
    fields = {}
    for line in datagram.decode().splitlines():
        name, value = line.split("=", 1)
        fields.setdefault(name, []).append(value)
    return fields


def ask(path):
    connection = http.client.HTTPConnection("localhost", timeout=SLACK_S)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(SLACK_S)
    connection.sock.connect(str(path))
    connection.request("GET", "/api/v1alpha1/devices")
    return connection


def answered(connection):
    status = connection.getresponse().status
    connection.close()
    return status == 200


class Service:
    """`sockets`: given as systemd gives them. `to_journal`: whether standard output is said to lead there."""

    def __init__(self, journal, sockets=(), to_journal=True, limit=None):
        self.output = open(work / "serve.log", "w+b")
        is_at = os.fstat(self.output.fileno())
        self.notes = receiver(work / "notify")
        environment = dict(os.environ, NOTIFY_SOCKET=str(work / "notify"), WATCHDOG_USEC="600000",
                           JOURNAL_STREAM=f"{is_at.st_dev}:{is_at.st_ino if to_journal else 1}")
        words = [lockstep, "serve", "--config", str(work / "serve.yaml")]
        if limit:
            words = ["prlimit", f"--nofile={limit}:", *words]
        if sockets:  # they are for the process of this number alone (sd_listen_fds(3)), from descriptor 3
            moves = " ".join(f"{3 + index}<&{one.fileno()}" for index, one in enumerate(sockets))
            environment |= {"LISTEN_FDS": str(len(sockets)), "LISTEN_FDNAMES": ":".join("api" for _ in sockets)}
            words = ["bash", "-c", f'exec {moves}; export LISTEN_PID=$$; exec "$@"', "bash", *words]
        self.journal = journal
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words], stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=self.output, env=environment, pass_fds=[one.fileno() for one in sockets])

    def told(self):
        return (work / "serve.log").read_text()

    def notified(self, what):
        """Waits for it; what came before it."""
        before = []
        while True:
            try:
                note = self.notes.recv(65536).decode()
            except TimeoutError:
                demand(False, "no", what, "within", SLACK_S, "s:", before[-5:], self.told())
            if note.startswith(what):
                return before
            before.append(note)

    def note_within(self, seconds):
        """The next one; none: there was none."""
        self.notes.settimeout(seconds)
        try:
            return self.notes.recv(65536).decode()
        except (TimeoutError, BlockingIOError):
            return None
        finally:
            self.notes.settimeout(SLACK_S)

    def forget_notes(self):
        while self.note_within(0) is not None:
            pass

    def event(self, kind):
        while True:
            try:
                fields = entry(self.journal.recv(65536))
            except TimeoutError:
                demand(False, "no", kind, "within", SLACK_S, "s:", self.told())
            if fields.get("LOCKSTEP_EVENT") == [kind]:
                return fields

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(timeout=SLACK_S)


def config(listen):
    (work / "serve.yaml").write_text(f"""apiVersion: lockstep.dev/v1alpha1
kind: ServiceConfig
spec: {{folder: specs, interval: 1d, measure: false, api: {{listen: {json.dumps(listen)}}}}}
""")


def tells_the_journal(journal):
    config([f"unix:{work}/api/api.sock"])
    service = Service(journal, limit=512)
    before = service.notified("READY=1")
    demand(not any(note.startswith(("STATUS=", "WATCHDOG=1")) for note in before), "before it is ready:", before)
    demand(answered(ask(work / "api" / "api.sock")), "it said that it is ready, and is not")
    service.event("RevisionValid")
    leads = service.event("Leads")
    demand(KINDS[leads["MESSAGE_ID"][0]] == "Leads the cluster" and leads["PRIORITY"] == ["6"], leads)
    demand(leads["SYSLOG_IDENTIFIER"] == ["lockstep"] and leads["MESSAGE"][0].startswith("Leads Cluster/"), leads)
    service.notified("WATCHDOG=1")
    service.notified("STATUS=")
    limits = re.search(r"Max open files +(\d+) +(\d+)", pathlib.Path(f"/proc/{service.process.pid}/limits").read_text())
    demand(limits[1] == limits[2] and int(limits[1]) > 512, "it may open", limits[0])

    step("a reload looks again, and each event is one entry")
    host = work / "specs" / "host.yaml"
    host.write_text(host.read_text().replace("role: host", "rolle: host"))
    service.process.send_signal(signal.SIGHUP)
    invalid = service.event("RevisionInvalid")
    demand(invalid["PRIORITY"] == ["3"] and "host.yaml:" in invalid["MESSAGE"][0] and len(invalid["MESSAGE"]) == 1, invalid)
    demand(len(invalid["LOCKSTEP_REVISION"]) == 1 and "LOCKSTEP_DEVICE" not in invalid, invalid)
    host.write_text(host.read_text().replace("rolle: host", "role: host"))
    demand("RevisionInvalid" not in service.told(), "an event is told twice:", service.told())
    demand(service.end() == 0, "it ended with", service.process.returncode, service.told())
    service.notified("STOPPING=1")


class Held:
    """The main thread alone of a process is stopped (ptrace(2)); the others go on."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, pid):
        self.pid = pid

    def call(self, request):
        libc = ctypes.CDLL(None, use_errno=True)
        done = libc.ptrace(ctypes.c_ulong(request), ctypes.c_ulong(self.pid), None, None)
        demand(done == 0, "ptrace request", request, os.strerror(ctypes.get_errno()))

    def __enter__(self):
        self.call(self.SEIZE)
        self.call(self.INTERRUPT)
        _, status = os.waitpid(self.pid, 0)
        demand(os.WIFSTOPPED(status), "it did not stop:", status)

    def __exit__(self, *_):
        self.call(self.DETACH)


def others_answer():
    """Whether the threads of the API do, while the main one is held; not where it has a lock that they need."""
    connection = ask(work / "api" / "api.sock")
    connection.sock.settimeout(ANSWER_S)
    try:
        return answered(connection)
    except TimeoutError:
        return False


def is_not_well_while_it_decides_nothing(service):
    """False: it is held at a moment at which nothing can be asked."""
    with Held(service.process.pid):
        service.forget_notes()
        if not others_answer():
            return False
        end = time.monotonic() + QUIET_S
        while time.monotonic() < end:
            note = service.note_within(0.1)
            demand(note != "WATCHDOG=1", "it says that it is well, and decides nothing")
            demand(others_answer(), "its other threads are to go on")
    return True


def ends_its_watchdog_where_it_decides_nothing(journal):
    """Whatever its other threads still answer."""
    config([f"unix:{work}/api/api.sock"])
    service = Service(journal)
    service.event("Leads")  # the last thing that it tells here
    service.notified("WATCHDOG=1")
    demand(any(is_not_well_while_it_decides_nothing(service) for _ in range(10)), "it has a lock each time")
    service.notified("WATCHDOG=1")
    demand(service.end() == 0, service.told())


def prints_where_there_is_no_journal(journal):
    """Nor where the output was redirected since."""
    service = Service(journal, to_journal=False)
    service.notified("READY=1")
    until(SLACK_S, service.told, lambda: re.search(r"  Leads +Cluster/", service.told()))
    demand(service.end() == 0, service.told())
    journal.setblocking(False)
    try:
        demand(False, "the journal was told:", journal.recv(65536))
    except BlockingIOError:
        journal.settimeout(SLACK_S)


def takes_sockets(journal):
    """They wait while it starts again. What it is given is not what it makes: the same address is there once."""
    os.makedirs("/run/lockstep/service")
    path = "/run/lockstep/service/api.sock"
    given = listener(path)
    config(["unix:" + path])
    early = ask(path)
    service = Service(journal, [given])
    demand(answered(early), "a client that came before")
    demand(answered(ask(path)), "a client that came after")
    variables = pathlib.Path(f"/proc/{service.process.pid}/environ").read_bytes()
    demand(b"LISTEN_FDS=1" in variables, "this test gave it nothing")
    service.end(signal.SIGKILL)
    between = ask(path)
    service = Service(journal, [given])
    demand(answered(between), "a client that came while it was not there")
    demand(service.end() == 0, service.told())
    demand(os.path.exists(path), "the socket is gone, which is not its own")

    step("a socket that is none for streams is refused, by its name")
    other = receiver(work / "datagrams")
    service = Service(journal, [other])
    demand(service.process.wait(timeout=SLACK_S) == 1, "it takes datagrams")
    demand("socket 'api' that was given as descriptor 3 is none that listens" in service.told(), service.told())

    step("systemd's own program gives it sockets, too")
    config([f"unix:{work}/api/api.sock"])
    process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "systemd-socket-activate", "-l", str(work / "activated.sock"),
                                "--fdname=api", lockstep, "serve", "--config", str(work / "serve.yaml")], stdin=subprocess.DEVNULL)
    until(SLACK_S, "no socket", lambda: (work / "activated.sock").exists())
    demand(answered(ask(work / "activated.sock")), "no answer")
    demand(answered(ask(work / "api" / "api.sock")), "no answer where it listens by itself")
    process.terminate()
    demand(process.wait(timeout=SLACK_S) == 0, "it ended with", process.returncode)


def main():
    journal = receiver("/run/systemd/journal/socket")
    VALUE.write_text("61")
    for what in (tells_the_journal, ends_its_watchdog_where_it_decides_nothing, prints_where_there_is_no_journal, takes_sockets):
        step(what.__name__.replace("_", " "))
        what(journal)
    step("passed")


main()
