"""The store beneath a running service fails. Usage: serve.py LOCKSTEP FOLDER, as serve.sh calls it. The oracles are /proc/sys, the
exit code and the file itself."""
import contextlib
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from demands import demand, run, step, until

lockstep, work = sys.argv[1], pathlib.Path(sys.argv[2])
SLACK_S = 60  # of what takes some ten seconds on a machine that is not busy
TRIES_AGAIN_S = 7  # after five seconds, and up to a tenth more (ServiceSettings::retry_min)
VALUE = pathlib.Path("/proc/sys/net/ipv4/tcp_fin_timeout")
WANTED, DRIFTED = "30", "61"
NO_SUCH_DISK = 3  # the exit code
DISK, SOCKET, LOG = work / "disk", work / "api/api.sock", work / "serve.log"


def value():
    return VALUE.read_text().strip()


def ask(method, target, body=None):
    connection = http.client.HTTPConnection("localhost", timeout=SLACK_S)
    with socket.socket(socket.AF_UNIX) as connection.sock:
        connection.sock.settimeout(SLACK_S)
        connection.sock.connect(str(SOCKET))
        connection.request(method, target, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def get(kind):
    status, text = ask("GET", "/api/v1alpha1/" + kind)
    demand(status == 200, kind, "can't be read:", status, text)
    return json.loads(text)["items"]


def cluster():
    """Its status; empty before the specs are read."""
    return next((one["status"] for one in get("clusters")), {})


def is_ready():
    return ask("GET", "/readyz")[0] == 200


def cordoned():
    return ask("POST", "/api/v1alpha1/devices/gpu1:cordon", '{"reason": "a test"}')


class Service:
    def __init__(self, audit=""):
        """`audit`: a file elsewhere; empty: among its other state."""
        LOG.write_text("")
        (work / "serve.yaml").write_text(f"""apiVersion: lockstep.dev/v1alpha1
kind: ServiceConfig
spec: {{folder: specs, interval: 1d, measure: false, api: {{listen: ["unix:{SOCKET}"]{audit and f', auditFile: {audit}'}}}}}
""")
        with open(LOG, "ab") as log:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", lockstep, "serve", "--config", work / "serve.yaml"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def listens(self):
        demand(self.process.poll() is None, "it ended with", self.process.returncode, LOG.read_text())
        with contextlib.suppress(OSError):
            return ask("GET", "/healthz")[0] == 200
        return False

    def begun(self):
        until(SLACK_S, LOG.read_text, self.listens)
        return self

    def drifts(self):
        VALUE.write_text(DRIFTED)
        self.process.send_signal(signal.SIGHUP)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=SLACK_S)
        demand(code == 0, "it ended with", code, LOG.read_text())


def heals():
    """And says so."""
    until(SLACK_S, lambda: LOG.read_text() + str(cluster()), lambda: value() == WANTED)
    until(SLACK_S, lambda: ask("GET", "/readyz"), is_ready)
    until(SLACK_S, cluster, lambda: cluster().get("leads") and "recordTrouble" not in cluster())


def mount(*words):
    run("mount", *words, str(DISK))
    (DISK / "service").mkdir(mode=0o700, exist_ok=True)


def fill():
    with open(DISK / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))


def journal():
    return next(DISK.rglob("journal.sqlite"))


def writes_nothing_until_it_can_record(service, why, refusal):
    """A drift that nothing can be recorded of. `refusal`: of what somebody says."""
    service.drifts()
    until(SLACK_S, cluster, lambda: "recordTrouble" in cluster())
    trouble = cluster()["recordTrouble"]
    demand(trouble.startswith(str(journal())) and why in trouble, "the trouble is not named:", trouble)
    status, text = ask("GET", "/readyz")
    demand(status == 503 and "[-]record failed\n" in text and text.count("[-]") == 1, status, text)
    until(SLACK_S, LOG.read_text, lambda: re.search("  RecordTrouble +Cluster/lab  " + re.escape(trouble), LOG.read_text()))
    status, text = cordoned()
    demand(status == 503 and refusal in json.loads(text)["message"], "what was said can't be stored:", status, text)
    end = time.monotonic() + TRIES_AGAIN_S
    while time.monotonic() < end:
        demand(value() == DRIFTED, "it wrote", value(), "and has no record of it:", LOG.read_text())
        demand(not is_ready(), "it is ready, and can't store anything")
        demand(len(get("devices")) == 1 and cluster()["leads"], "what is read:", cluster())
        time.sleep(0.1)
    demand("cordon" not in get("devices")[0]["spec"], "it took what it could not store:", get("devices"))


def a_full_disk():
    mount("-t", "tmpfs", "-o", "size=2m", "none")
    VALUE.write_text(DRIFTED)
    service = Service().begun()
    heals()
    until(SLACK_S, LOG.read_text, lambda: "  ChangeKept " in LOG.read_text())
    fill()
    full = "make room on that file system and try again"
    writes_nothing_until_it_can_record(service, full, "the audit log can't be written: " + str(DISK))
    (DISK / "filler").unlink()
    heals()
    status, text = cordoned()
    demand(status == 200, "with room:", status, text)
    demand(ask("POST", "/api/v1alpha1/devices/gpu1:uncordon", '{"reason": "a test"}')[0] == 200, "with room")
    service.end()

    step("a full disk, and the audit log elsewhere")
    service = Service(audit=work / "audit.jsonl").begun()
    heals()
    fill()
    writes_nothing_until_it_can_record(service, full, full)
    (DISK / "filler").unlink()
    heals()
    service.end()


def a_disk_that_becomes_read_only():
    """As ext4 makes it after an error (errors=remount-ro): mount(8) refuses to while files are open for writing. Nothing but another
    mount ends that. False: this machine can't have such a disk."""
    image = work / "image"
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    run("mke2fs", "-q", "-F", "-t", "ext4", str(image))
    words = ["mount", "-t", "ext4", "-o", "loop,errors=remount-ro", str(image), str(DISK)]
    if subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return False
    device = pathlib.Path(run("findmnt", "-n", "-o", "SOURCE", "--mountpoint", str(DISK)).strip()).name
    fail = pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error")
    if not fail.exists():
        run("umount", str(DISK))
        return False
    (DISK / "service").mkdir(mode=0o700)
    VALUE.write_text(DRIFTED)
    service = Service(audit=work / "audit.jsonl").begun()
    heals()
    until(SLACK_S, LOG.read_text, lambda: "  ChangeKept " in LOG.read_text())
    fail.write_text("a test")
    advice = "look at the disk and its file system (dmesg)"
    writes_nothing_until_it_can_record(service, advice, advice)
    service.end()
    run("umount", str(DISK))
    run(*words)
    service = Service().begun()
    heals()
    service.end()
    run("umount", str(DISK))
    return True


def a_start_on_a_disk_that_is_full():
    fill()
    VALUE.write_text(DRIFTED)
    service = Service().begun()
    until(SLACK_S, cluster, lambda: "No space left on device" in cluster().get("whyNotLeads", ""))
    demand(not cluster()["leads"] and value() == DRIFTED, value(), cluster())
    (DISK / "filler").unlink()
    heals()
    service.end()


def a_start_on_a_disk_that_is_read_only():
    mount("-o", "remount,ro")
    VALUE.write_text(DRIFTED)
    before = journal().read_bytes()
    service = Service()
    code = service.process.wait(timeout=SLACK_S)
    told = LOG.read_text()
    demand(code == 1, "it ended with", code, told)
    demand(re.search(f"^error: .*{re.escape(str(DISK))}/service/.*: Read-only file system$", told, re.M), "the reason:", told)
    demand(value() == DRIFTED and journal().read_bytes() == before, "it wrote all the same")
    mount("-o", "remount,rw")
    service = Service().begun()
    heals()
    service.end()


def a_journal_that_is_damaged():
    whole = journal().read_bytes()
    damaged = b"\xff" * 100 + whole[100:]
    journal().write_bytes(damaged)
    VALUE.write_text(DRIFTED)
    service = Service().begun()
    advice = "the file is damaged: `lockstep state restore BACKUP`"
    until(SLACK_S, cluster, lambda: advice in cluster().get("whyNotLeads", ""))
    demand(cluster()["whyNotLeads"].startswith(str(journal())), "no file is named:", cluster())
    end = time.monotonic() + TRIES_AGAIN_S
    while time.monotonic() < end:
        demand(not cluster()["leads"] and value() == DRIFTED, "it leads by a damaged record:", LOG.read_text())
        time.sleep(0.1)
    status, text = ask("POST", "/api/v1alpha1/clusters/lab:suspend", '{"reason": "a test"}')
    demand(status == 409 and advice in json.loads(text)["message"], "said to one that does not lead:", status, text)
    demand(journal().read_bytes() == damaged, "the damaged file was changed")
    journal().write_bytes(whole)
    heals()
    service.end()


def main():
    for what in (a_full_disk, a_start_on_a_disk_that_is_full, a_start_on_a_disk_that_is_read_only, a_journal_that_is_damaged):
        step(what.__name__.replace("_", " "))
        what()
    run("umount", str(DISK))
    step("a disk that becomes read-only")
    if not a_disk_that_becomes_read_only():
        sys.exit(NO_SUCH_DISK)
    step("passed")


main()
