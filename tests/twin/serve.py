"""A service over a twin: serve.sh makes the twin and states the purpose. Usage: serve.py LOCKSTEP POD FOLDER."""
import atexit
import hashlib
import hmac
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

lockstep, pod, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
HOSTS = ["gpu1", "gpu2", "gpu3", "gpu4"]
SLACK_S = 120  # of what takes seconds on a machine that is not busy


def demand(good, *words):
    if not good:
        sys.exit("FAILED: " + " ".join(str(word) for word in words))


def run(*command, codes=(0,)):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    demand(done.returncode in codes, *command, "ended with", done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def git(*words):
    """By Ada, who signs."""
    settings = ["user.name=Ada", "user.email=ada@example.org", "gpg.format=ssh", f"user.signingKey={work}/ada", "commit.gpgSign=true"]
    return run("git", "-C", work / "clone", *(word for one in settings for word in ("-c", one)), *words).strip()


def ask(method, target, body="", headers=None, status=200):
    """The API, over its UNIX socket."""
    connection = http.client.HTTPConnection("localhost", timeout=SLACK_S)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(SLACK_S)
    connection.sock.connect(str(work / "api" / "api.sock"))
    connection.request(method, target, body, {"Content-Type": "application/json", **(headers or {})})
    answer = connection.getresponse()
    text = answer.read().decode()
    demand(answer.status == status, method, target, "is answered with", answer.status, text)
    connection.close()
    return json.loads(text) if text.startswith("{") else text


def webhook(secret=b"a-secret-of-some-length", status=202):
    """As Gitea tells of a push."""
    body = json.dumps({"ref": "refs/heads/main"})
    signature = hmac.new(secret, body.encode(), hashlib.sha256).hexdigest()
    ask("POST", "/webhooks/gitea", body, {"X-Gitea-Event": "push", "X-Gitea-Signature": signature}, status)


def revisions_of(commit):
    return [one for one in ask("GET", "/api/v1alpha1/revisions")["items"] if one["spec"]["source"] == commit]


def command(*words):
    """As a person gives it to the service."""
    return run(lockstep, *words, "--server", f"unix:{work}/api/api.sock")


def schedule(check):
    """Until what the API shows of the suite that is measured by the clock is as `check` wants it."""
    end = time.monotonic() + SLACK_S
    while time.monotonic() < end:
        shown = [one for cluster in ask("GET", "/api/v1alpha1/clusters")["items"] for one in cluster["status"].get("schedules", [])]
        if any(check(one) for one in shown):
            return
        time.sleep(0.2)
    demand(False, "the API shows of schedules", shown)


def waiting_revision(commit):
    """As the API shows it, a moment after the event."""
    end = time.monotonic() + SLACK_S
    while time.monotonic() < end:
        found = revisions_of(commit)
        if any(one["reason"] == "Waiting" for revision in found for one in revision["status"]["conditions"]):
            return found[0]
        time.sleep(0.05)
    demand(False, "the API does not show that", commit, "waits:", found)


class Service:
    """One process, and the events that it told."""

    def __init__(self):
        self.log = open(work / "serve.log", "ab+")
        self.from_here = self.log.seek(0, os.SEEK_END)
        self.process = subprocess.Popen([lockstep, "serve", "-o", "json", "--twin", pod, "--config", work / "serve.yaml"],
                                        stdout=self.log, stderr=self.log)
        atexit.register(self.process.kill)  # does nothing once it has ended

    def events(self):
        text = (work / "serve.log").read_bytes()[self.from_here:].decode()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]

    def wait_for(self, reason, object="", count=1):
        """Until that many of these were told since the last forget()."""
        end = time.monotonic() + SLACK_S
        while time.monotonic() < end:
            found = [one for one in self.events() if one["reason"] == reason and one["object"].startswith(object)]
            if len(found) >= count:
                return found
            demand(self.process.poll() is None, "the service ended with", self.process.poll(), self.told())
            time.sleep(0.01)
        demand(False, "no", reason, object, "within", SLACK_S, "s;", self.told())

    def told(self):
        return (work / "serve.log").read_text()[-4000:]

    def forget(self):
        self.from_here = (work / "serve.log").stat().st_size

    def end(self, how):
        self.process.send_signal(how)
        return self.process.wait(timeout=SLACK_S)

    def hang_up(self):
        self.process.send_signal(signal.SIGHUP)


def commit(subject, edit, *options):
    """Edits files of the clone (name, pattern, replacement), pushes, and returns the commit."""
    for name, pattern, text in edit:
        file = work / "clone" / "pod" / name
        changed, count = re.subn(pattern, text, file.read_text())
        demand(count > 0, name, "has no", pattern)
        file.write_text(changed)
    git("commit", "-qam", subject, *options)
    git("push", "-q", "--force", "origin", "HEAD:main")
    return git("rev-parse", "HEAD")


def paths(device):
    """maximum-paths, by FRR itself."""
    text = run(lockstep, "twin", "exec", pod, device, "vtysh", "-c", "show running-config")
    return int(re.search(r"maximum-paths (\d+)", text).group(1))


def mtu(device, port):
    return int(re.search(r" mtu (\d+)", run(lockstep, "twin", "exec", pod, device, "ip", "link", "show", port)).group(1))


def answers(device, port, other):
    """Whether the other's address of that port answers to it from its own."""
    show = lambda name: run(lockstep, "twin", "exec", pod, name, "ip", "-4", "-o", "address", "show", "dev", port)
    address = re.search(r"inet ([\d.]+)", show(other)).group(1)
    run(lockstep, "twin", "exec", pod, device, "ping", "-q", "-c", "3", "-W", "5", "-I", port, address)


def ttls():
    """Of what each host sends."""
    return [int(run(lockstep, "twin", "exec", pod, host, "sysctl", "-n", "net.ipv4.ip_default_ttl")) for host in HOSTS]


def main():
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", work / "ada")
    (work / "signers").write_text("ada@example.org " + (work / "ada.pub").read_text())
    run("git", "init", "-q", "--bare", "-b", "main", work / "origin.git")
    run("git", "clone", "-q", work / "origin.git", work / "clone")
    run("cp", "-r", pod, work / "clone" / "pod")
    git("add", "-A")
    first = commit("the pod", [("fabric.yaml", "maxPaths: 64", "maxPaths: 32")])
    (work / "secret").write_text("a-secret-of-some-length")
    (work / "secret").chmod(0o600)
    (work / "serve.yaml").write_text("apiVersion: lockstep.dev/v1alpha1\nkind: ServiceConfig\nspec:\n"
                                     f"  git: {{repository: {work}/origin.git, path: pod, signersFile: signers}}\n  interval: 1h\n"
                                     f"  api: {{listen: ['unix:{work}/api/api.sock'], webhooks: {{gitea: secret}}}}\n")

    print("--- the first commit is applied", flush=True)
    service = Service()
    service.wait_for("ChangeKept", "Revision/" + first)
    demand(paths("leaf0") == 32 and mtu("leaf0", "up0") == 9216, "leaf0 has", paths("leaf0"), mtu("leaf0", "up0"))

    print("--- nobody else changes the cluster meanwhile", flush=True)
    said = run(lockstep, "apply", "--twin", "--yes", pod, codes=(1,))
    demand("lockstep serve" in said, "apply says", said)

    print("--- a commit, at once after a forge has told of it", flush=True)
    service.forget()
    second = commit("other paths", [("fabric.yaml", "maxPaths: 32", "maxPaths: 16")])
    webhook(b"another secret", 401)
    began = time.monotonic()
    webhook()
    service.wait_for("ChangeBegan", "Revision/" + second)
    planned = time.monotonic() - began
    service.wait_for("ChangeKept", "Revision/" + second)
    print(f"    planned {planned:.2f} s after the webhook, kept after {time.monotonic() - began:.2f} s", flush=True)
    demand(paths("leaf0") == 16 and paths("leaf1") == 16, "the leaves have", paths("leaf0"), paths("leaf1"))

    print("--- a commit that is invalid changes nothing, and says where", flush=True)
    service.forget()
    bad = commit("a slip", [("fabric.yaml", "maxPaths: 16", "maxPath: 8")])
    service.hang_up()
    told = service.wait_for("RevisionInvalid", "Revision/" + bad)[0]["message"]
    demand(re.match(r"fabric\.yaml:\d+:\d+: LS1002: ", told) and "maxPaths" in told, "it says", told)
    demand(paths("leaf0") == 16, "leaf0 has", paths("leaf0"))

    print("--- nor does one that nobody signed who may", flush=True)
    service.forget()
    commit("from nobody", [("fabric.yaml", "maxPath: 8", "maxPaths: 8")], "--no-gpg-sign")
    service.hang_up()
    told = service.wait_for("SourceTrouble")[0]["message"]
    demand("is not signed" in told and str(work / "signers") in told, "it says", told)
    demand(paths("leaf0") == 16, "leaf0 has", paths("leaf0"))

    print("--- drift is healed, towards the last good commit", flush=True)
    service.forget()
    run(lockstep, "twin", "exec", pod, "leaf0", "ip", "link", "set", "up0", "mtu", "1500")
    service.wait_for("Drift", "Device/leaf0")
    service.wait_for("Healed")
    demand(mtu("leaf0", "up0") == 9216, "leaf0 has", mtu("leaf0", "up0"))

    print("--- what the gate refuses is undone, and stays refused", flush=True)
    service.forget()
    harmful = commit("no packet gets beyond the leaf", [("fabric.yaml", "maxPaths: 8", "maxPaths: 16"),
                                                        ("hosts.yaml", "  sysctl:", "  sysctl:\n    net.ipv4.ip_default_ttl: 1")])
    service.hang_up()
    service.wait_for("ChangeRefused", "Revision/" + harmful)
    demand(ttls() == [64] * len(HOSTS), "the hosts have", ttls(), "after the rollback")
    refused = revisions_of(harmful)[0]["status"]
    demand(refused["state"] == "refused" and refused["waiting"][0]["device"] in HOSTS, "who may approve it sees", refused)
    service.forget()
    service.hang_up()
    time.sleep(5)
    demand(not [one for one in service.events() if one["object"] == "Revision/" + harmful], "it is gone for again", service.told())
    demand(ttls() == [64] * len(HOSTS), "the hosts have", ttls())

    print("--- a commit that needs approval waits for it", flush=True)
    service.forget()
    held = commit("held", [("fabric.yaml", "maxPaths: 16", "maxPaths: 6"), ("hosts.yaml", "\n    net.ipv4.ip_default_ttl: 1", ""),
                           ("policy.yaml", "selector: {}", "selector: {}, approval: {none: manual, traffic: manual}")])
    service.hang_up()
    service.wait_for("ApprovalNeeded", "Revision/" + held)
    revision = waiting_revision(held)
    demand(paths("leaf0") == 16, "leaf0 has", paths("leaf0"), "before the approval")
    ask("POST", f"/api/v1alpha1/revisions/{revision['metadata']['name']}:approve", json.dumps({"reason": "reviewed"}))
    service.wait_for("ChangeKept", "Revision/" + held)
    demand(paths("leaf0") == 6 and paths("leaf1") == 6, "the leaves have", paths("leaf0"), paths("leaf1"))

    print("--- killed in the middle of a change, it goes on", flush=True)
    service.forget()
    third = commit("better", [("fabric.yaml", "maxPaths: 6", "maxPaths: 4"), ("policy.yaml", ", approval: {[^}]*}", "")])
    service.hang_up()
    service.wait_for("ChangeBegan", "Revision/" + third)
    service.end(signal.SIGKILL)
    service = Service()
    service.wait_for("ChangeKept", "Revision/" + third)
    demand(paths("leaf0") == 4 and paths("leaf1") == 4, "the leaves have", paths("leaf0"), paths("leaf1"))

    print("--- a branch that was forced back", flush=True)
    service.forget()
    git("reset", "-q", "--hard", second)
    git("push", "-q", "--force", "origin", "HEAD:main")
    service.hang_up()
    service.wait_for("ChangeKept", "Revision/" + second)
    demand(paths("leaf0") == 16, "leaf0 has", paths("leaf0"))

    print("--- stopped in the middle of a change, it ends in order, and goes on when it is started", flush=True)
    service.forget()
    fourth = commit("worse", [("fabric.yaml", "maxPaths: 16", "maxPaths: 8")])
    service.hang_up()
    service.wait_for("ChangeBegan", "Revision/" + fourth)
    demand(service.end(signal.SIGTERM) == 0, "it ended with", service.process.returncode, service.told())
    service = Service()
    service.wait_for("ChangeKept", "Revision/" + fourth)
    demand(paths("leaf0") == 8 and paths("leaf1") == 8, "the leaves have", paths("leaf0"), paths("leaf1"))

    print("--- suspended: others change the cluster, and a host is added to the twin; resumed, all of it is as git says", flush=True)
    service.forget()
    command("suspend", "--reason", "a host is added")
    run(lockstep, "apply", "--twin", "--yes", "--no-measure", pod, codes=(0, 2))
    demand(paths("leaf0") == 64, "leaf0 has", paths("leaf0"), "after apply")
    grown = commit("a fifth host", [("devices.yaml", r"gpu\[1-4\]", "gpu[1-5]"), ("fabric.yaml", r"gpu\[1-4\]", "gpu[1-5]"),
                                    ("fabric.yaml", r"swp\[1-4\]", "swp[1-5]")])
    webhook()
    service.wait_for("RevisionValid", "Revision/" + grown)
    for name in ("devices.yaml", "fabric.yaml"):
        run("cp", work / "clone" / "pod" / name, pod / name)
    run(lockstep, "twin", "up", pod)
    demand(paths("leaf0") == 64, "leaf0 has", paths("leaf0"), "while the service is suspended")
    command("resume", "--reason", "it is there")
    service.wait_for("ChangeKept", "Revision/" + grown)
    demand(paths("leaf0") == 8 and paths("leaf1") == 8, "the leaves have", paths("leaf0"), paths("leaf1"))
    answers("gpu5", "rail0", "gpu1")

    print("--- a suite is measured by the clock", flush=True)
    service.forget()
    clocked = commit("by the clock", [("slo.yaml", "  onChange:", "  onSchedule: {every: 1min, when: always}\n  onChange:")])
    webhook()
    service.wait_for("ChangeKept", "Revision/" + clocked)
    schedule(lambda one: one["suite"] == "backend-slo" and one.get("last", {}).get("verdict") == "pass")
    first_run = ask("GET", "/api/v1alpha1/clusters")["items"][0]["status"]["schedules"][0]["last"]["run"]
    demand(first_run > 0, "the run is recorded as", first_run)

    print("--- a repository that is gone leaves all as it is", flush=True)
    service.forget()
    os.rename(work / "origin.git", work / "moved.git")
    service.hang_up()
    service.wait_for("SourceTrouble")
    run(lockstep, "twin", "exec", pod, "leaf1", "ip", "link", "set", "up1", "mtu", "1500")
    end = time.monotonic() + SLACK_S
    while mtu("leaf1", "up1") != 9216:
        demand(time.monotonic() < end, "leaf1 has", mtu("leaf1", "up1"), service.told())
        time.sleep(0.5)

    print("--- its history is the one that is beside it", flush=True)
    end = time.monotonic() + SLACK_S
    while True:  # the last heal may be ending
        beside = json.loads(run(lockstep, "history", "--twin", pod, "--newest", "7", "-o", "json"))
        del beside["specsCommit"]
        served = json.loads(command("history", "--newest", "7", "-o", "json"))
        shown_beside = run(lockstep, "history", "--twin", pod).splitlines()[1:]
        shown = command("history").splitlines()[1:]
        if served == beside and len(served["changes"]) == 7 and shown == shown_beside:
            break
        demand(time.monotonic() < end, "another history is served:", served, shown, "and not", beside, shown_beside)

    print("--- it ends in order, and others may change the cluster again", flush=True)
    demand(service.end(signal.SIGTERM) == 0, "it ended with", service.process.returncode, service.told())
    # Refused would be 1. It may tell of a change of the service that was stopped before it was measured.
    run(lockstep, "apply", "--twin", "--yes", "--no-measure", pod, codes=(0, 2))
    told = run(lockstep, "history", "--twin", pod)
    demand(f"{second} (Ada <ada@example.org>: other paths)" in told, "the history does not say whose commit it was:", told)


main()
