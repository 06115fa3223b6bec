"""Plans by a service: plan.sh prepares the machine and states the purpose. Usage: plan.py LOCKSTEP FOLDER."""
import hashlib
import http.client
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

LOCKSTEP, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
SPECS, SOCKET = WORK / "specs", WORK / "run/api.sock"
SLACK_S = 60
CLIENTS = 24  # with limits of their own
clients = itertools.cycle(range(CLIENTS))


def by_service():
    """As the next client."""
    return "--server", "http://127.0.0.1:7445", "--token-file", WORK / f"token-{next(clients)}"


def run(*words, folder=WORK):
    done = subprocess.run([LOCKSTEP, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False, timeout=SLACK_S)
    return done.returncode, done.stdout, done.stderr


def http_request(method, target, body=""):
    connection = http.client.HTTPConnection("localhost", timeout=SLACK_S)
    with socket.socket(socket.AF_UNIX) as connection.sock:
        connection.sock.connect(str(SOCKET))
        connection.request(method, "/api/v1alpha1/" + target, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def soon(holds):
    end = time.monotonic() + SLACK_S
    while not holds():
        assert time.monotonic() < end, "not within a minute"
        time.sleep(0.02)


def planners():
    """The processes that plan: /proc is the oracle."""
    out = []
    for one in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = one.read_bytes().split(b"\0")
        except OSError:
            continue
        # Not prlimit(1), which becomes one.
        if b"plan-proposal" in words[1:2]:
            out.append(int(one.parent.name))
    return out


def document(text):
    """Without what a service adds, and the moment."""
    out = json.loads(text)
    out.pop("service", None)
    out.pop("time")
    return out


class Listener:
    """Ends each connection at once, and counts them."""

    def __init__(self):
        self.connections = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        try:
            while True:
                self.socket.accept()[0].close()
                self.connections += 1
        except OSError:
            pass

    def end(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


class Service:
    def __init__(self):
        tokens = {f"token-{number}": f"secret {number}".replace(" ", "-") for number in range(CLIENTS)}
        for name, secret in tokens.items():
            (WORK / name).write_text(secret + "\n", encoding="utf-8")
            (WORK / name).chmod(0o600)
        (WORK / "tokens").write_text("".join(f"ci-{name}:viewer:{hashlib.sha256(secret.encode()).hexdigest()}\n"
                                             for name, secret in tokens.items()), encoding="utf-8")
        (WORK / "tokens").chmod(0o600)
        (WORK / "serve.yaml").write_text("apiVersion: lockstep.dev/v1alpha1\nkind: ServiceConfig\nspec:\n"
                                         f"  folder: {SPECS}\n  interval: 1h\n  measure: false\n"
                                         f"  api: {{listen: ['unix:{SOCKET}', '127.0.0.1:7445'], tokensFile: tokens}}\n",
                                         encoding="utf-8")
        self.log = open(WORK / "serve.log", "ab")
        self.process = subprocess.Popen([LOCKSTEP, "serve", "--config", WORK / "serve.yaml"], stdout=self.log, stderr=self.log)
        try:
            soon(self.watches)
        except AssertionError as late:
            self.end()
            raise AssertionError((WORK / "serve.log").read_text()) from late

    @staticmethod
    def watches():
        if not SOCKET.exists():
            return False
        try:
            status, found = http_request("GET", "devices/plan-test")
        except OSError:
            return False
        return status == 200 and "counts" in found["status"]

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(timeout=SLACK_S)
        self.log.close()


class Plan(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.service = Service()

    @classmethod
    def tearDownClass(cls):
        cls.service.end()

    def setUp(self):
        self.specs = WORK / "proposed"
        shutil.rmtree(self.specs, ignore_errors=True)
        shutil.copytree(SPECS, self.specs)

    def propose(self, name="host.yaml", old="tcp_mtu_probing: 0", new="tcp_mtu_probing: 1"):
        file = self.specs / name
        text = file.read_text(encoding="utf-8")
        self.assertIn(old, text)
        file.write_text(text.replace(old, new), encoding="utf-8")

    def both(self, *words, code, specs="proposed"):
        """The command without a service, and by it."""
        here = run("plan", *words, specs)
        there = run("plan", *words, specs, *by_service())
        self.assertEqual(here[0], code, here)
        self.assertEqual(there[0], code, there)
        return here, there

    def test_is_the_plan_of_the_command(self):
        self.propose()
        only = ("--only", "plan-test")
        for words in (only, (*only, "--details")):
            here, there = self.both(*words, code=2)
            self.assertEqual(there[1:], here[1:])
            self.assertIn("tcp_mtu_probing", there[1])
        here, there = self.both(*only, "-o", "json", code=2)
        self.assertEqual(document(there[1]), document(here[1]))
        service = json.loads(there[1])["service"]
        self.assertEqual(service["notObserved"], [])
        [revision] = http_request("GET", "revisions")[1]["items"]
        self.assertEqual(service["revision"], revision["spec"]["source"])
        code, out, _ = run("plan", *only, "-o", "yaml", "proposed", *by_service())
        self.assertEqual((code, 'kind: "Plan"' in out), (2, True), out)
        # Over the UNIX socket, with the name of the folder as it is given.
        there = run("plan", *only, ".", "-o", "json", "--server", f"unix:{SOCKET}", folder=self.specs)
        here = run("plan", *only, ".", "-o", "json", folder=self.specs)
        self.assertEqual(document(there[1]), document(here[1]))
        self.assertEqual(json.loads(here[1])["steps"][0]["changes"][0]["origin"]["file"], "host.yaml")

    def test_names_the_commit_of_the_specs(self):
        def git(*words):
            return subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@example.invalid", *words], cwd=self.specs,
                                  check=True, capture_output=True, text=True).stdout.strip()

        git("init", "--quiet")
        git("add", "--all")
        git("commit", "--quiet", "-m", "specs")
        commit = git("rev-parse", "HEAD")
        here, there = self.both("--only", "plan-test", "-o", "json", code=0)
        self.assertEqual(document(there[1]), document(here[1]))
        self.assertEqual(document(there[1])["specsCommit"], commit)
        self.propose()
        here, there = self.both("--only", "plan-test", "-o", "json", code=2)
        self.assertEqual(document(there[1]), document(here[1]))
        self.assertEqual(document(there[1])["specsCommit"], commit + "-dirty")

    def test_nothing_to_do_is_nothing_to_do(self):
        here, there = self.both("--only", "plan-test", code=0)
        self.assertEqual(there[1:], here[1:])

    def test_what_is_not_observed_is_named_and_incomplete(self):
        here, there = self.both(code=3)
        self.assertEqual(there[1:], here[1:])
        self.assertIn("gpu9", there[2])
        self.assertTrue(json.loads(self.both("-o", "json", code=3)[1][1])["service"]["notObserved"])

    def test_mistakes_have_their_line(self):
        self.propose("host.yaml", "role: host", "rolle: host")
        here, there = self.both("-o", "json", code=1)
        self.assertEqual(document(there[1]), document(here[1]))
        self.assertIn(("LS1002", "proposed/host.yaml", 4), [(one["code"], one["file"], one["line"])
                                                             for one in json.loads(there[1])["errors"]])
        here, there = self.both(code=1)
        self.assertEqual(there[1:], here[1:])

    def test_another_cluster_is_refused(self):
        self.propose("allocations.lock", re.search(r'"uuid": "(.)', (SPECS / "allocations.lock").read_text())[0],
                     '"uuid": "' + ("0" if '"uuid": "1' in (SPECS / "allocations.lock").read_text() else "1"))
        code, out, _ = run("plan", "proposed", "-o", "json", *by_service())
        self.assertEqual(code, 1)
        self.assertIn("these are the specs of another cluster", json.loads(out)["errors"][0]["message"])
        (self.specs / "allocations.lock").unlink()
        code, _, said = run("plan", "proposed", *by_service())
        self.assertEqual(code, 1)
        self.assertIn("another cluster", said)

    def test_asks_no_address_that_specs_name(self):
        listener = Listener()
        self.addCleanup(listener.end)
        url = f"https://127.0.0.1:{listener.port}"
        self.propose("others.yaml", "names: gpu9", "names: 'gpu[9-10]'")
        self.propose("others.yaml", "https://127.0.0.1:9", url)
        self.propose("host.yaml", "connect: {local: true}", f"connect: {{agent: '{url}'}}")
        code, _, said = run("plan", "proposed", *by_service())
        self.assertEqual(code, 3, said)
        self.assertIn("its `connect` is not that of the specs in force", said)
        self.assertIn("new with these specs", said)
        self.assertEqual(listener.connections, 0)
        # The command asks: the attack is one, and the listener sees it.
        run("plan", "proposed")
        self.assertGreater(listener.connections, 0)

    def test_reads_no_file_of_the_machine(self):
        (WORK / "secret.csv").write_text("name\nan-own-secret\n", encoding="utf-8")
        inventory = (self.specs / "others.yaml").read_text(encoding="utf-8")
        for file in (f"{WORK}/secret.csv", "../secret.csv", "../../../../../../../../etc/passwd",
                     f"../../../{SPECS.relative_to(WORK)}/host.yaml", "/proc/self/environ"):
            text = inventory.replace("names: gpu9", f"from: {{csv: '{file}'}}")
            status, answer = self.post({"host.yaml": (self.specs / "host.yaml").read_text(), "others.yaml": text,
                                        "allocations.lock": (self.specs / "allocations.lock").read_text()})
            self.assertEqual(status, 422, answer)
            for secret in ("an-own-secret", "root:", "LOCKSTEP_STATE_DIR", str(WORK / "cache")):
                self.assertNotIn(secret, json.dumps(answer), file)

    def post(self, files):
        """By HTTP itself, as the next client."""
        [cluster] = http_request("GET", "clusters")[1]["items"]
        secret = by_service()[3].read_text(encoding="utf-8").strip()
        asked = urllib.request.Request(f"http://127.0.0.1:7445/api/v1alpha1/clusters/{cluster['metadata']['name']}:plan",
                                       json.dumps({"files": files}).encode(),
                                       {"Content-Type": "application/json", "Authorization": f"Bearer {secret}"})
        try:
            with urllib.request.urlopen(asked, timeout=SLACK_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)

    def test_paths_that_lead_out_are_refused(self):
        for path in ("../a.yaml", "/etc/lockstep/host.yaml", "a/../../b.yaml", ".git/config", ".a.yaml", "platforms/.."):
            status, answer = self.post({"host.yaml": "", path: "x"})
            self.assertEqual(status, 400, path)
        self.assertFalse((WORK / "cache").joinpath("a.yaml").exists())

    def test_too_much_is_refused(self):
        (self.specs / "large.yaml").write_text("# " + "x" * (9 << 20), encoding="utf-8")
        code, _, said = run("plan", "proposed", *by_service())
        self.assertEqual(code, 1)
        self.assertIn("has more than the 8388608 bytes that are read", said)
        # As many entries as would fill the memory.
        text = (self.specs / "host.yaml").read_text().replace("names: plan-test", "names: 'gpu[1-99999999]'")
        status, answer = self.post({"host.yaml": text, "allocations.lock": (self.specs / "allocations.lock").read_text()})
        self.assertEqual(status, 422, answer)

    def test_what_a_service_can_not_do_is_said(self):
        for words, why in ((["--twin"], "--twin: the service knows"), (["--renumber"], "--renumber"),
                           (["--out", "plan.json"], "--out: `apply` takes"), (["--context", "none"], "no context 'none'")):
            code, _, said = run("plan", "proposed", *words, *(by_service() if "--context" not in words else ()))
            self.assertEqual(code, 1)
            self.assertIn(why, said)
        code, _, said = run("plan", "proposed/host.yaml", *by_service())
        self.assertEqual((code, "one folder" in said), (1, True))
        code, _, said = run("plan", "proposed", "--only", "gpu77", *by_service())
        self.assertEqual((code, "--only: no device is called 'gpu77'" in said), (1, True), said)
        self.assertFalse((WORK / "plan.json").exists())

    def test_changes_and_keeps_nothing(self):
        def all_of_it():
            store = {one: one.read_bytes() for one in (WORK / "state").rglob("*") if one.is_file() and one.suffix != ".db-shm"}
            return ([http_request("GET", kind)[1]["items"] for kind in ("revisions", "changes")], store,
                    pathlib.Path("/proc/sys/net/ipv4/tcp_mtu_probing").read_text())

        before = all_of_it()
        self.propose()
        self.assertEqual(run("plan", "--only", "plan-test", "proposed", *by_service())[0], 2)
        self.assertEqual(all_of_it(), before)
        self.assertEqual(list((WORK / "cache").glob("*/proposed/*")), [], "the specs were kept")
        lines = [json.loads(line) for file in (WORK / "service").glob("*/audit.jsonl") for line in file.read_text().splitlines()]
        self.assertEqual([one["stage"] for one in lines if one["id"] == lines[-1]["id"]], ["RequestReceived", "ResponseComplete"])
        self.assertEqual((lines[-1]["action"], lines[-1]["outcome"], lines[-1]["who"].startswith("ci-token-")), ("plan", "planned", True))


class WhilePlanning(unittest.TestCase):
    """A planner that hangs, because the test stops it."""

    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.end, signal.SIGKILL)
        self.begin()

    def begin(self):
        """The planner may have ended before it is stopped: then there is another one."""
        end = time.monotonic() + SLACK_S
        while not self.stopped():
            self.assertLess(time.monotonic(), end, "no planner could be stopped")

    def stopped(self):
        self.command = subprocess.Popen([LOCKSTEP, "plan", "specs", "--server", f"unix:{SOCKET}"], cwd=WORK, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.command.kill)
        while self.command.poll() is None:  # without a pause: a planner lives for a fraction of a second
            for self.planner in planners():
                try:
                    os.kill(self.planner, signal.SIGSTOP)
                except ProcessLookupError:
                    continue
                if self.planner in planners():  # one that ended has no command line
                    return True
        self.command.communicate()
        return False

    def test_the_service_answers_and_outlives_it(self):
        self.assertEqual(http_request("GET", "devices")[0], 200)
        [cluster] = http_request("GET", "clusters")[1]["items"]
        name = cluster["metadata"]["name"]
        status, answer = http_request("POST", f"clusters/{name}:plan", '{"files": {"a.yaml": ""}}')
        self.assertEqual(status, 429, answer)
        self.assertEqual(http_request("POST", f"clusters/{name}:reconcile", "{}")[0], 200)
        self.assertTrue(planners(), "it has ended before this was asked")
        os.kill(self.planner, signal.SIGKILL)
        out, said = self.command.communicate(timeout=SLACK_S)
        self.assertEqual(self.command.returncode, 1, out)
        self.assertIn("was ended by signal 9", said)
        self.assertEqual(run("plan", "--only", "plan-test", "specs", *by_service())[0], 0)

    def test_what_it_may_take_is_bounded(self):
        limits = pathlib.Path(f"/proc/{self.planner}/limits").read_text()
        soft = lambda what: re.search(rf"^{what} +(\S+)", limits, re.M).group(1)
        self.assertEqual((soft("Max cpu time"), soft("Max core file size")), ("300", "0"))
        is_asan = b"__asan_init" in pathlib.Path(LOCKSTEP).read_bytes()  # its shadow takes terabytes of addresses
        self.assertEqual(soft("Max address space"), "unlimited" if is_asan else str(8 << 30))

    def test_it_ends_with_the_service(self):
        self.service.end(signal.SIGKILL)
        soon(lambda: not planners())
        self.command.communicate(timeout=SLACK_S)
        self.assertEqual(self.command.returncode, 1)

    def test_a_stop_of_the_service_does_not_wait_for_it(self):
        self.service.end(signal.SIGTERM)
        self.assertEqual(self.service.process.returncode, 0)
        soon(lambda: not planners())
        self.command.communicate(timeout=SLACK_S)
        self.assertEqual(self.command.returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
