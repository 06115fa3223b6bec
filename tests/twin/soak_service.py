"""For serve_soak.py: a service that runs, all that it tells on its two ways (standard output; a watch of each kind of its API),
and what it uses of the machine."""
import atexit
import collections
import http.client
import json
import os
import pathlib
import queue
import re
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from demands import demand, until

SLACK_S = 120  # of what takes seconds on a machine that is not busy
LOG_KEPT = 16384  # entries that the service keeps for its watchers (reconciler/api/service_api.hpp)
KINDS = ["clusters", "revisions", "devices", "changes", "benchmarkruns", "findings", "events", "fabrics", "devicesets", "hostprofiles",
         "roceprofiles", "validationsuites", "rolloutpolicies", "gitsources"]
Told = collections.namedtuple("Told", "reason object message at")  # at: time.time() when it was read here


def connect(path, timeout=SLACK_S):
    out = http.client.HTTPConnection("localhost")
    out.sock = socket.socket(socket.AF_UNIX)
    out.sock.settimeout(timeout)
    out.sock.connect(str(path))
    return out


class Watch:
    """One watch of one kind, never cut off: its numbers, and of events what they say."""

    def __init__(self, path, kind):
        self.kind, self.began, self.numbers, self.sizes, self.events = kind, None, [], [], []
        self.newest, self.ended, self.first = 0, None, 0
        self.connection = connect(path, None)
        self.connection.request("GET", f"/api/v1alpha1/{kind}?watch=true")
        self.answer = self.connection.getresponse()
        demand(self.answer.status == 200, "the watch of", kind, "is answered with", self.answer.status)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        fields = {}
        try:
            for line in self.answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                elif fields:
                    self.take(fields)
                    fields = {}
            self.ended = "the service closed it"
        except Exception as error:  # told by check()
            self.ended = repr(error)

    def take(self, fields):
        at = time.time()
        number = int(fields["id"].rsplit("-", 1)[1]) if "id" in fields else None
        if fields.get("event") == "ERROR" or (number is not None and number < self.newest):
            self.ended = f"{fields} after {self.newest}"
        if number is None:
            self.first += fields.get("event") == "ADDED"  # what there was before
            return
        self.newest = number
        if fields["event"] == "BOOKMARK":
            self.began = number if self.began is None else self.began
            return
        self.numbers.append(number)
        self.sizes.append(len(fields["data"]))
        if self.kind == "events":
            one = json.loads(fields["data"])
            of = one["involvedObject"]
            self.events.append(Told(one["reason"], f"{of['kind']}/{of['name']}", one["message"], at))


class Service:
    def __init__(self, lockstep, pod, work, name):
        self.socket, self.told, self.all = work / "api" / "api.sock", queue.Queue(), []
        self.errors = open(work / f"{name}.err", "w+")
        self.process = subprocess.Popen([lockstep, "serve", "-o", "json", "--twin", pod, "--config", work / "serve.yaml"],
                                        stdout=subprocess.PIPE, stderr=self.errors)
        atexit.register(self.process.kill)  # does nothing once it has ended
        threading.Thread(target=self.read, daemon=True).start()
        self.watches, self.asking, self.samples = [], None, []

    def read(self):
        for line in self.process.stdout:
            if line.startswith(b"{"):
                one = json.loads(line)
                self.told.put(Told(one["reason"], one["object"], one["message"], time.time()))

    def take(self):
        """What it told since the last time."""
        out = []
        while not self.told.empty():
            out.append(self.told.get())
        self.all += out
        return out

    def has_told(self, reason):
        self.take()
        demand(self.process.poll() is None, "the service ended with", self.process.poll(), self.said())
        return any(one.reason == reason for one in self.all)

    def watch_all(self):
        """From here on each change of each object is seen."""
        self.watches = [Watch(self.socket, kind) for kind in KINDS]
        until(SLACK_S, "the watches' first bookmarks", lambda: all(one.began is not None for one in self.watches))
        self.watched_from = max(one.began for one in self.watches)
        self.events = next(one for one in self.watches if one.kind == "events")
        self.take()
        self.told_before = len(self.all)

    def ask(self, method, target, body=None):
        self.asking = self.asking or connect(self.socket)
        self.asking.request(method, target, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = self.asking.getresponse()
        text = answer.read().decode()
        demand(answer.status == 200, method, target, "is answered with", answer.status, text)
        return text

    def observed(self):
        """{device: when it was last looked at}"""
        text = self.ask("GET", "/metrics")
        found = re.findall(r'lockstep_device_observed_timestamp_seconds\{device="(.*)"\} (\S+)', text)
        return {name: float(at) for name, at in found}

    def ready(self):
        """{device: status of its condition Ready}"""
        items = json.loads(self.ask("GET", "/api/v1alpha1/devices"))["items"]
        return {one["metadata"]["name"]: next(its["status"] for its in one["status"]["conditions"] if its["type"] == "Ready")
                for one in items}

    def check_watches(self):
        """Each entry of the service's log was seen once, in order; each event that was printed was sent, and the reverse."""
        for one in self.watches:
            demand(one.ended is None, "the watch of", one.kind, "ended:", one.ended)
        least = len(self.all) - self.told_before  # of what was printed; the watch may have begun a little before that

        def sent():
            return [one[:3] for one in self.events.events]
        until(SLACK_S, lambda: f"as many events over the API as printed: {len(sent())} of {least}", lambda: len(sent()) >= least)
        self.take()
        got = sent()  # the last things happened long ago
        demand(len(got) <= len(self.all), "the API sent", len(got), "events, and", len(self.all), "were printed")
        printed = [one[:3] for one in self.all[len(self.all) - len(got):]]
        demand(got == printed, "the API sent other events than were printed, from number",
               next((i for i, both in enumerate(zip(got, printed)) if both[0] != both[1]), len(printed)))

        def numbers():
            return sorted(number for one in self.watches for number in one.numbers if number > self.watched_from)

        def gaps(all_of):
            return [one for one, number in enumerate(all_of, self.watched_from + 1) if one != number]
        # The kinds come over connections of their own: the newest may still be under way.
        until(SLACK_S, lambda: f"all numbers once: {gaps(numbers())[:3]}", lambda: not gaps(numbers()))
        return len(numbers()), len(printed)

    def log_bytes(self):
        """Of the objects that the service keeps for watchers, as they were sent; those that a watch began with not counted."""
        pairs = sorted((number, size) for one in self.watches for number, size in zip(list(one.numbers), list(one.sizes)))
        return sum(size for _, size in pairs[-LOG_KEPT:]), len(pairs)

    def sample(self, folders):
        process = pathlib.Path(f"/proc/{self.process.pid}")
        status = dict(re.findall(r"(\w+):\s+(\d+)", (process / "status").read_text()))
        ticks = sum(int(one) for one in (process / "stat").read_text().rsplit(")", 1)[1].split()[11:13])
        heap = re.search(r"^lockstep_heap_allocated_bytes (\S+)", self.ask("GET", "/metrics"), re.MULTILINE)
        demand(heap, "the service does not tell of its heap: is it built with a sanitizer?")
        self.samples.append({"at": time.time(), "rss": 1024 * int(status["VmRSS"]), "threads": int(status["Threads"]),
                             "heap": float(heap[1]),
                             "fds": len(os.listdir(process / "fd")), "cpu": ticks / os.sysconf("SC_CLK_TCK"),
                             "log": self.log_bytes()[0], "state": size_of(folders)})
        return self.samples[-1]

    def fill_log(self, devices):
        """Until the service keeps nothing for its watchers but what comes from here: the same each time."""
        from_here = len(self.all)
        began = max(one.newest for one in self.watches)
        while max(one.newest for one in self.watches) < began + LOG_KEPT + 2000:
            for device in devices:
                self.ask("POST", f"/api/v1alpha1/devices/{device}:cordon", {"reason": f"fill {time.time():.6f}"})
                time.sleep(0.01)  # beyond 200 requests a second it refuses
        for device in devices:
            self.ask("POST", f"/api/v1alpha1/devices/{device}:uncordon", {"reason": "filled"})
        # It goes for its specs again, with all devices.
        until(SLACK_S, "the devices are watched again",
              lambda: self.take() is not None and self.all[-1].reason == "ChangeKept" and set(self.ready().values()) == {"True"}, 1)
        demand({one.reason for one in self.all[from_here:]} <= {"Cordoned", "Uncordoned", "ChangeKept"}, "something else was told")

    def end(self):
        self.process.terminate()
        code = self.process.wait(SLACK_S)
        demand(code == 0, "the service ended with", code, self.said())

    def said(self):
        return pathlib.Path(self.errors.name).read_text()


def size_of(folder):
    out = 0
    for file in pathlib.Path(folder).rglob("*"):
        try:
            out += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            pass
    return out
