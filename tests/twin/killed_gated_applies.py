"""kill -9 at random points of gated applies on a running twin: killed_gated_applies.sh makes the twin and states the purpose.
Usage: killed_gated_applies.py LOCKSTEP POD APPROVED, with KILLS, SEED and LOCKSTEP_STATE_DIR set."""
import collections
import os
import pathlib
import pty
import random
import re
import select
import signal
import subprocess
import sys
import time

from gated_oracles import Book, Broken, Devices, Ledger, demand, differing, told

PHASES = ["planning", "before", "writing", "verifying", "measuring", "confirming", "undoing", "measuring again",
          "accepting"]
HOLDS = {"rmem": "4096 131072 6291456", "ttl": 64}
# The first looks like a lack of CPU, and is distinguished only by the measurement before; the second cuts off all traffic.
BREAKS = {"rmem": "4096 4096 4096", "ttl": 1}
# -shm and -wal: SQLite's own, while the file is open or after a kill.
STATE_FILES = {"journal.sqlite", "journal.sqlite-shm", "journal.sqlite-wal", "lock", "measuring.lock"}
MARK = "KILLED_GATED_APPLY"
RUN_ENDS_S = 300  # longer is a hang: far beyond the slowest run under load
PROBES_END_S = 20  # they end when their parent does (prctl(2), PR_SET_PDEATHSIG)
TRIES = 6  # of an apply whose benchmarks can't decide, as on busy cores
SIGN = re.compile(r"steps? on |wave (?P<wave>\d+) of (?P<of>\d+)|… even out|… verify|… measure|… undo|✓|"
                  r"  gate: ")
VERDICT = re.compile(r"^(nothing to do|kept, not validated|kept, effects missing|kept|partly|rolled back|rollback failed|quarantined|"
                     r"waits for a window|stopped|waits for a person)  ", re.M)


class Run:
    """One apply on a terminal, so that it prints its progress; killed at `point` if it gets that far."""

    def __init__(self, command, typical, point=None):
        self.typical = typical
        self.measures = "--no-measure" not in command
        self.phases = [("planning", time.monotonic())]
        self.text, self.killed, self.raw = "", False, b""
        self.started = time.monotonic()
        mine, its = pty.openpty()
        self.token = f"{os.getpid()}-{self.started}"
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=its, stderr=its, start_new_session=True,
            env=dict(os.environ, **{MARK: self.token, "NO_COLOR": "1"}))
        os.close(its)
        self.follow(mine, point)
        os.close(mine)
        self.code = self.process.wait()
        self.took = time.monotonic() - self.started
        if not self.killed:
            self.phase_took(time.monotonic())
        verdicts = VERDICT.findall(self.text)
        self.verdict = verdicts[-1] if verdicts and not self.killed else None
        self.began = not self.killed or SIGN.search(self.text) is not None
        self.taken_on = {int(one) for one in re.findall(r"(?:never measured|not validated yet): change (\d+)", self.text)}
        self.found_in_flight = {int(one) for one in re.findall(r"in flight: change (\d+)", self.text)}
        gates = re.findall(r"  gate: (.*)", self.text)
        self.gate = gates[-1].strip() if gates else ""
        signs = [one.group() for one in SIGN.finditer(self.text)]
        self.undid = "… undo" in signs
        last = {sign: at for at, sign in enumerate(signs)}
        self.judged = "  gate: " in last and (self.undid or last["  gate: "] > last.get("✓", -1))
        self.no_probe_left()

    def follow(self, terminal, point):
        deadline = self.started + RUN_ENDS_S
        while True:
            at = point.due(self) if point else None
            wait = max(0, min(deadline, at or deadline) - time.monotonic())
            if select.select([terminal], [], [], wait)[0]:
                try:
                    self.raw += os.read(terminal, 65536)
                except OSError:  # EIO: all other ends are closed
                    break
                self.heard()
            elif at and self.process.poll() is None:
                self.process.send_signal(signal.SIGKILL)
                self.killed = self.process.wait() == -signal.SIGKILL
                point = None
                deadline = time.monotonic() + PROBES_END_S
            elif not at:
                self.process.kill()
                raise Broken("hangs after " + self.text[-500:])

    def heard(self):
        text = self.raw.decode(errors="replace")
        self.text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).replace("\r", "\n")
        known = self.phases_of(self.text)
        now = time.monotonic()
        for phase in known[len(self.phases):]:
            self.phase_took(now)
            self.phases.append((phase, now))

    def phase_took(self, until):
        phase, since = self.phases[-1]
        self.typical[phase] = 0.7 * self.typical[phase] + 0.3 * (until - since)

    @staticmethod
    def phases_of(text):
        out, planned, waves, last_wave, undone = ["planning"], False, False, True, False
        for sign in SIGN.finditer(text):
            word = sign.group()
            if sign["wave"]:
                waves, last_wave = True, sign["wave"] == sign["of"]
                out.append("writing")
            elif word == "… even out":
                out.append("writing")
            elif word == "… verify":
                out.append("verifying")
            elif word == "… undo":
                undone = True
                out.append("undoing")
            elif word == "… measure":
                confirms = out[-1] in ("measuring", "confirming")
                first = "before" if planned and not waves else "measuring"
                out.append("measuring again" if undone else "confirming" if confirms else first)
            elif word == "  gate: " and last_wave:
                out.append("accepting")
            elif word.endswith(" on "):
                planned = True
        return out

    def no_probe_left(self):
        until = time.monotonic() + PROBES_END_S
        while left := self.descendants():
            demand(time.monotonic() < until, "left running:", left)
            time.sleep(0.02)

    def descendants(self):
        mark = f"{MARK}={self.token}".encode()
        out = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    out.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                pass  # the process has ended
        return [one for one in out if one]  # a zombie has an empty command line


class InPhase:
    """A kill point: at `share` of the nth occurrence of a phase."""

    def __init__(self, phase, nth, share):
        self.phase, self.nth, self.share = phase, nth, share

    def due(self, run):
        begun = [at for phase, at in run.phases if phase == self.phase]
        return begun[self.nth] + self.share * run.typical[self.phase] if len(begun) > self.nth else None


class InRun:
    """A kill point: at `share` of a whole run."""

    def __init__(self, share, took):
        self.after = share * took

    def due(self, run):
        return run.started + self.after


class Trial:
    def __init__(self, lockstep, pod, approved, kills, seed):
        self.lockstep, self.pod = lockstep, pathlib.Path(pod)
        # This test deliberately tries again what a gate rolled back.
        self.word = ("--approve", approved + ",gate")
        self.random, self.began = random.Random(seed), time.monotonic()
        self.wanted, self.kills, self.missed = kills, 0, 0
        self.hit = collections.Counter()
        self.endings = collections.Counter()
        # The duration of each phase in s: learned, starting from that of an idle machine.
        self.typical = collections.defaultdict(lambda: 1.0, planning=0.5, writing=0.1, verifying=0.1, undoing=0.3,
                                               accepting=0.05)
        self.whole = {False: 5.0, True: 10.0}  # duration of a good (False) and a bad (True) run in s; learned
        self.shares = []
        self.devices = Devices(lockstep, pod)
        self.spoken = {"paths": 64, "idle": 0, "mtu": 9000, **HOLDS}
        self.settled = dict(self.spoken)
        self.templates = {name: (self.pod / name).read_text() for name in ("fabric.yaml", "hosts.yaml")}
        self.say()
        self.found = self.devices.values()
        subprocess.run(self.command("apply", "--twin", "--yes", *self.word, "--no-measure"), check=True)
        self.now, self.ledger = self.devices.values(), Ledger(self.journal())
        self.book = Book(self.now)
        self.faulty = False

    @staticmethod
    def journal():
        found = list(pathlib.Path(os.environ["LOCKSTEP_STATE_DIR"]).rglob("journal.sqlite"))
        demand(len(found) == 1, "journals:", found)
        return found[0]

    def command(self, *words):
        return [self.lockstep, *words, str(self.pod)]

    def say(self):
        """Writes the specs."""
        fabric = self.templates["fabric.yaml"].replace("@PATHS@", str(self.spoken["paths"]))
        (self.pod / "fabric.yaml").write_text(fabric.replace("@MTU@", str(self.spoken["mtu"])))
        hosts = self.templates["hosts.yaml"]
        for what in ("idle", "rmem", "ttl"):
            hosts = hosts.replace(f"@{what.upper()}@", str(self.spoken[what]))
        (self.pod / "hosts.yaml").write_text(hosts)

    def expected(self):
        out = {}
        for device in self.devices.hosts:
            for what, row in Devices.ROWS.items():
                out[device, row] = str(self.spoken[what])
            for port in ("rail0", "rail1"):
                out[device, f"interface[{port}]/mtu"] = str(self.spoken["mtu"])
        for device in self.devices.switches:
            out[device, "bgp/max-paths"] = str(self.spoken["paths"])
        return out

    def change_specs(self, bad):
        if bad:
            what = self.random.choice(["rmem", "ttl", "ttl", "ttl"])
            self.spoken[what] = BREAKS[what]
        else:
            what = self.random.choice(["paths", "idle", "mtu"])
            choices = {"paths": (64, 32, 16), "idle": (0, 1), "mtu": (9000, 8000)}[what]
            self.spoken[what] = self.random.choice([one for one in choices if one != self.spoken[what]])
        self.say()

    def fault(self, there):
        """A manual fault that cuts off gpu1, in a setting that the specs do not mention."""
        if there != self.faulty:
            self.devices.run("gpu1", "ip", "rule", "add" if there else "del", "to", "10.64.0.0/16", "blackhole",
                             "pref", "10")
        self.faulty = there

    def point(self, bad):
        if self.random.random() < 0.5:
            if not self.shares:
                self.shares = [(i + self.random.random()) / 10 for i in range(10)]
                self.random.shuffle(self.shares)
            return InRun(self.shares.pop(), self.whole[bad])
        seldom = ("accepting",) if bad else ("confirming", "undoing", "measuring again")
        fitting = [one for one in PHASES if one not in seldom]
        least = min(self.hit[one] for one in fitting)
        phase = self.random.choice([one for one in fitting if self.hit[one] == least])
        again = phase in ("writing", "verifying", "measuring", "confirming") and self.random.random() < 0.3
        return InPhase(phase, int(again), self.random.random())

    def apply(self, point=None, *words):
        """Makes one run, and checks all that must hold after it."""
        before, was = self.ledger, self.now
        run = Run(self.command("apply", "--twin", "--yes", *self.word, *words), self.typical, point)
        self.ledger, self.now = Ledger(self.journal()), self.devices.values()
        try:
            self.book.run_over(run, before, self.ledger, was, self.now)
            if not run.killed:
                demand(not self.ledger.in_flight(), "left in flight:", self.ledger.in_flight())
        except Broken:
            print(run.text)
            raise
        why = f"; {run.gate[:160]}" if run.gate else ""
        if run.killed:
            self.kills += 1
            phase = run.phases[-1][0]
            if phase != "accepting" and any(one in self.book.closed for one in self.ledger.may_be_owed()):
                phase = "accepting"
            self.hit[phase] += 1
            print(f"kill {self.kills}: {phase} at {run.took:.2f} s; open: {sorted(self.book.open)}{why}", flush=True)
        else:
            self.endings[run.verdict or "nothing to do"] += 1
            print(f"  run of {run.took:.2f} s: {run.verdict}, {run.code}; open: {sorted(self.book.open)}{why}",
                  flush=True)
        return run

    def plan(self):
        answer = subprocess.run(self.command("plan", "--twin"), capture_output=True, text=True, timeout=RUN_ENDS_S)
        numbers = {int(one) for one in re.findall(r"(?:never measured|not validated yet): change (\d+)", answer.stdout + answer.stderr)}
        self.book.plan_told(numbers, self.ledger)
        demand(answer.returncode in ((2,) if numbers else (0, 2)), "plan ended with", answer.returncode, answer.stdout)
        return answer.returncode

    def came_to_an_end(self, run):
        """Returns whether no change is open; checks that the values are then those of the verdict."""
        demand(run.code in (0, 2, 3) or (run.verdict == "rolled back" and run.code == 1),
               "ended with", run.code, run.verdict, run.text)
        if run.verdict == "rolled back":
            self.spoken = dict(self.settled)
            self.say()
        stays = self.book.stays
        if not self.book.all_settled(self.now):
            demand(run.code in (2, 3) or run.verdict == "rolled back", "unjudged, and ended with", run.code, run.text)
            return False
        have = {where: self.now.get(where) for where in self.expected()}
        left = differing(have, self.expected())
        # The write of a killed run did not cause the breakage before it, and is kept; what the next run wrote in addition is
        # rolled back. The specs have the former values again for both.
        if run.verdict == "rolled back" and left and all(stays.get(where) == have[where] for where in left):
            return False
        demand(not left, "after", run.verdict, "differ:", left)
        self.settled = dict(self.spoken)
        return True

    def round(self):
        bad = self.random.random() < 0.4
        self.change_specs(bad)
        self.fault(self.random.random() < 0.15)
        print("round:", self.spoken, "with a fault by hand" if self.faulty else "", flush=True)
        for _ in range(self.random.choice((1, 2, 2, 3))):
            run = self.apply(self.point(bad))
            if not run.killed:
                self.missed += 1
                self.whole[bad] = run.took
                break
            self.plan()
            self.fault(self.faulty or self.random.random() < 0.1)
            if self.random.random() < 0.2:  # a user edits the specs again
                self.change_specs(False)
        self.fault(self.faulty and self.random.random() < 0.5)
        for tried in range(TRIES):
            if tried == 2:  # a user reverts a change that the gate can't decide
                self.take_back()
            if tried > 0 or run.killed:
                run = self.apply()
            if self.came_to_an_end(run):
                break
        else:
            print("  still not to be told: it stays owed", flush=True)
        self.fault(False)

    def take_back(self):
        self.fault(False)
        self.spoken = dict(self.settled)
        self.say()
        run = self.apply()
        if run.verdict in ("kept", "kept, not validated"):
            have = {where: self.now.get(where) for where in self.expected()}
            demand(not differing(have, self.expected()), "taken back by a person, and held is", run.text)
        self.plan()

    def run(self):
        while self.kills < self.wanted or self.left_out() and self.kills < 2 * self.wanted:
            self.round()
        self.at_the_end()

    def left_out(self):
        return [one for one in PHASES if self.hit[one] < self.wanted // 30]

    def at_the_end(self):
        for _ in range(TRIES):
            run = self.apply()
            if self.came_to_an_end(run) and run.code == 0:
                break
        demand(run.code in (0, 3), "the last apply ended with", run.code, run.text)
        drift = subprocess.run(self.command("drift", "--twin"), capture_output=True, text=True)
        demand(drift.returncode == 0, "drift ended with", drift.returncode, drift.stdout)
        status = subprocess.run(self.command("twin", "status"), capture_output=True, text=True)
        demand(status.returncode == 0, "the twin is not whole:", status.stdout)
        left = {one.name for one in self.journal().parent.iterdir()} - STATE_FILES
        demand(not left, "beside the journal are left:", left)
        for one in self.ledger.written:
            where = one.device, one.path
            if where not in self.found:
                continue
            demand(one.tried is None and told(one.wrote) == self.now[where], one, "and it is", self.now[where])
            demand(told(one.found) == self.found[where], one, "and it was", self.found[where])
        took = time.monotonic() - self.began
        print(f"{took:.0f} s, {took / max(1, self.kills):.1f} a kill")
        print("kills:", ", ".join(f"{one} {self.hit[one]}" for one in PHASES), f"; {self.missed} runs ended first")
        print("ends:", dict(self.endings), {one: round(took, 2) for one, took in self.typical.items()})
        demand(not self.left_out(), "never or seldom hit:", self.left_out(), ": the kill points are badly chosen")


if __name__ == "__main__":
    try:
        Trial(*sys.argv[1:4], int(os.environ["KILLS"]), int(os.environ["SEED"])).run()
    except Broken as promise:
        sys.exit(f"FAILED: {promise}")
