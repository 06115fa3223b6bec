"""A service under manual changes each second: serve_soak.sh makes the twin and states the purpose.
Usage: serve_soak.py LOCKSTEP POD FOLDER TWIN. The oracle is this program's own list of what it changed when, and the kernel."""
import dataclasses
import os
import pathlib
import random
import re
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from demands import step
from soak_drifts import PORTS, Hand, all_drifts, of_address
from soak_service import SLACK_S, Service, demand, until

SECONDS = int(os.environ.get("LOCKSTEP_SOAK_S", "180"))
REST_S = 12  # of one place, so that it is not called flapping: 4 changes within 10 s (reconciler/engine/damping.hpp)
STAYS_S = 20  # at most, and at least two looks: some ten are there at a time
QUIET_S = 2  # the service reads a device at most every 0.5 s (event_floor, reconciler/engine/watch.hpp)
HEALED = "gpu1", "leaf0"  # more than 2 of 8 devices within ten minutes would open the circuit breaker
HEALS_MOST = 2  # of one place: the next ones wait longer and longer
RESYNC_S = 10
MIB = 1 << 20
# Bounds of what it uses, chosen from what was measured. An entry of the log has the object before and after, some 1.5 bytes for each
# that is sent: less than one would be no measurement. Resident memory has what the allocator keeps for later as well. A heal is
# stored as a change with its steps (some 55 KiB), of which retention keeps 10,000.
OF_LOG_LEAST, OF_LOG, HEAP_MORE, KEPT_MORE, STATE_IDLE, STATE_OF_HEAL = 1, 2, MIB, 6 * MIB, 64 << 10, 128 << 10
# The log of changes takes most of an hour to be full. In a long run it is filled with the same things before and after: what is
# allocated more then, for as much text, is a leak.
LONG = SECONDS >= 1000
LEAK_MOST = 1024  # bytes a drift


@dataclasses.dataclass
class Live:
    """One drift that was made, until it is over in every respect."""
    drift: object
    quiet: bool               # nothing was done to its device shortly before
    asks_ready: bool          # the device's condition is to be seen as well
    stays: float              # seconds, at least
    began: float = 0.0        # before it was made
    made: float = 0.0         # after that; 0: not yet
    looks: set = dataclasses.field(default_factory=set)
    undoing: float = 0.0      # its end was begun, by us or, once it was told, by the service
    undone: float = 0.0
    error: object = None      # of making or ending it
    opened: object = None     # the event
    closed: object = None
    follows: set = dataclasses.field(default_factory=set)  # what else differs because of it, now

    def name(self):
        return f"{self.drift.device} {self.drift.path} ({self.drift.kind})"


class Soak:
    def __init__(self, service, hands, drifts, heals, dice):
        self.service, self.hands, self.drifts, self.heals, self.dice = service, hands, drifts, heals, dice
        self.live, self.rests, self.uses, self.acts = {}, {}, {}, {}
        self.over, self.most, self.untold, self.followed = [], 0, 0, 0
        self.may_tell = {"Healed"} if heals else set()

    # What is told, against what was done
    def judge(self, one):
        if one.reason not in ("Drift", "DriftCleared"):
            return demand(one.reason in self.may_tell, "told, and nothing was done that explains it:", *one[:3])
        device = one.object.removeprefix("Device/")
        said = re.fullmatch(r"(.+?) (?:is (.*), and the specs want .*|was (.*), and is as the specs want it)", one.message)
        demand(said and (said[2] is None) == (one.reason == "DriftCleared"), "unexpected wording:", *one[:3])
        path, have = said[1], said[2]
        live = self.live.get((device, path))
        if live is None or live.closed:
            return self.judge_what_follows(one, device, path)
        if one.reason == "Drift":
            demand(live.opened is None, "told twice:", live.name(), *one[:3])
            demand(re.fullmatch(live.drift.have, have), "told with another value:", live.name(), have)
            live.opened = one
            return None
        demand(live.opened, "its end was told, and not its begin:", live.name())
        demand(live.undoing or self.heals, "its end was told, and it is there:", live.name())
        live.closed = one
        return None

    def judge_what_follows(self, one, device, path):
        if one.reason == "Drift":
            cause = next((live for live in self.live.values() if live.drift.allows(device, path)), None)
            demand(cause, "invented:", *one[:3])
            cause.follows.add((device, path))
            self.followed += 1
            return
        cause = next((live for live in self.live.values() if (device, path) in live.follows), None)
        demand(cause, "the end of nothing:", *one[:3])
        cause.follows.remove((device, path))

    # What is done
    def may_begin(self, drift):
        key = drift.device, drift.path
        if key in self.live or time.time() - self.rests.get(key, 0) < REST_S:
            return False
        if self.heals and self.uses.get(key, 0) >= HEALS_MOST:
            return False
        links = [one.drift for one in self.live.values() if one.drift.kind == "link"]
        if drift.kind == "link":
            return not links and not any(drift.ports & one.drift.ports for one in self.live.values())
        return not any(one.ports & drift.ports for one in links)

    def begin_one(self):
        free = [one for one in self.drifts if self.may_begin(one)]
        demand(free, "no place is free:", len(self.live), "in flight")
        kind = self.dice.choice(sorted({one.kind for one in free}))
        drift = self.dice.choice([one for one in free if one.kind == kind])
        is_quiet = time.time() - self.acts.get(drift.device, 0) > QUIET_S
        live = Live(drift, is_quiet, self.dice.random() < 0.25, self.dice.uniform(0, STAYS_S), began=time.time())
        key = drift.device, drift.path
        self.live[key] = live
        self.uses[key] = self.uses.get(key, 0) + 1
        self.most = max(self.most, len(self.live))
        self.touch(drift)

        def made(began, ended, _, error):
            live.error, live.began, live.made = error, began, ended
        self.hands[drift.device].do(drift.make, made)

    def touch(self, drift):
        for device in {drift.device, *(one for one, _ in drift.also)}:
            self.acts[device] = time.time()

    def undo(self, live):
        live.undoing = time.time()
        self.touch(live.drift)

        def undone(_, ended, __, error):
            live.error, live.undone = error, ended
        self.hands[live.drift.device].do(live.drift.undo, undone)

    def is_back(self, live):
        return self.hands[live.drift.device].now(live.drift.back)

    # What passes
    def advance(self):
        """A drift stays for two looks at its device that began after it, or until it is healed."""
        observed, ready = self.service.observed(), None
        for one in self.service.take():
            self.judge(one)
        for key, live in list(self.live.items()):
            if not live.made:
                continue
            demand(live.error is None, "could not be made or ended:", live.name(), live.error)
            if observed.get(live.drift.device, 0) > live.made:
                live.looks.add(observed[live.drift.device])
            demand(time.time() - (live.undone or live.made) < SLACK_S, "after", SLACK_S, "s it is still open, or was missed:",
                   live.name(), "told:", live.opened, "follows:", live.follows)
            if self.heals:
                self.advance_heal(live)
            elif len(live.looks) >= 2 and not live.undoing and time.time() >= live.made + live.stays:
                ready = ready or self.service.ready()
                if not live.asks_ready or ready[live.drift.device] == "False":
                    self.undo(live)
            if live.closed and (live.undone or self.heals) and not live.follows:
                self.over.append(self.live.pop(key))
                self.rests[key] = time.time()

    def advance_heal(self, live):
        if live.closed and not live.undoing:
            demand(self.is_back(live), "told as healed, and it is not:", live.name())
            live.undoing = live.undone = time.time()
        # A heal reads its devices once more: what came after the last look is healed and was never told.
        elif len(live.looks) >= 2 and not live.opened and self.is_back(live):
            self.untold += 1
            live.closed = live.undoing = live.undone = time.time()

    def run(self, seconds, folder):
        self.service.take()
        began = time.time()
        next_drift, next_sample = began, began
        while time.time() < began + seconds:
            now = time.time()
            if now >= next_drift:
                next_drift += 1
                self.begin_one()
            if now >= next_sample:
                next_sample += 5
                self.service.sample(folder)
            self.advance()
            time.sleep(max(0.0, min(0.25, next_drift - time.time())))
        until(SLACK_S, lambda: f"all is over: {list(self.live.values())}", lambda: self.advance() or not self.live, 0.25)
        until(SLACK_S, lambda: f"all devices are Ready: {self.service.ready()}",
              lambda: set(self.service.ready().values()) == {"True"} and len(self.service.ready()) == len(PORTS), 1)
        self.service.sample(folder)
        for one in self.service.take():
            self.judge(one)

    def report(self):
        kinds = sorted({one.drift.kind for one in self.over})
        places = {(one.drift.device, one.drift.path) for one in self.over}
        ways = [f"{kind} {sum(one.drift.kind == kind for one in self.over)}" for kind in kinds]
        print(f"    {len(self.over)} drifts at {len(places)} places, at most {self.most} at a time: {', '.join(ways)}; "
              f"{self.followed} more differences that follow from a link that is down", flush=True)
        if self.heals:
            print(f"    {self.untold} were healed together with another one before they were told", flush=True)
        told = [one for one in self.over if one.opened]
        event = [one for one in told if one.drift.is_event]
        quiet = [one for one in event if one.quiet]
        groups = {"with a kernel event, of a quiet device, made by a system call": [one for one in quiet if one.drift.is_call],
                  "with a kernel event, of a quiet device, made by a program": [one for one in quiet if not one.drift.is_call],
                  "with a kernel event, of a device that was just read": [one for one in event if not one.quiet],
                  f"without a kernel event (found by reading all every {RESYNC_S} s)": [one for one in told if not one.drift.is_event]}
        for name, ones in groups.items():
            print(f"    told after, {name}: {spread([o.opened.at - o.began for o in ones])}", flush=True)


def check_use(samples, seconds, heals):
    """What the service uses in the last third is bounded by the first third, its log of changes, and what it stores of heals."""
    first, third, last = samples[0], samples[len(samples) // 3], samples[-1]
    print(f"    RSS {first['rss'] / MIB:.1f} to {last['rss'] / MIB:.1f} MiB, of which allocated {first['heap'] / MIB:.1f} to "
          f"{last['heap'] / MIB:.1f} MiB, with {last['log'] / MIB:.1f} MiB of text for watchers, "
          f"{last['threads']} threads, {last['fds']} descriptors, state {first['state'] / MIB:.2f} to {last['state'] / MIB:.2f} MiB, "
          f"{100 * (last['cpu'] - first['cpu']) / (last['at'] - first['at']):.1f} % of a core", flush=True)
    early, late = samples[:len(samples) // 3 + 1], samples[-(len(samples) // 3 + 1):]
    for what in ("threads", "fds"):
        usual, now = (statistics.median(one[what] for one in some) for some in (early, late))
        demand(now <= usual + 2, "more", what, "than at the beginning:", [one[what] for one in samples])
    state = STATE_OF_HEAL * seconds if heals else STATE_IDLE
    demand(last["state"] - first["state"] <= state, "the state grew from", first["state"], "to", last["state"])
    if LONG:
        return  # the log is filled before and after instead
    log, grown, resident = (last[what] - third[what] for what in ("log", "heap", "rss"))
    most, drifts = OF_LOG * log + HEAP_MORE, last["at"] - third["at"]
    demand(OF_LOG_LEAST * log - HEAP_MORE <= grown <= most, "the heap grew by", grown, "bytes, with", log, "bytes of log")
    demand(resident <= grown + KEPT_MORE, "RSS grew by", resident, "bytes, and the heap by", grown)
    print(f"    since a third of the time: heap {grown / MIB:+.1f} of at most {most / MIB:+.1f} MiB: "
          f"a leak of more than {(most - grown) / drifts / 1024:.0f} KiB a drift would be seen", flush=True)


def spread(seconds):
    """From before it was made until the event was read."""
    if not seconds:
        return "none"
    ms = sorted(1000 * one for one in seconds)
    p99 = ms[int(0.99 * (len(ms) - 1))]
    return f"p50 {statistics.median(ms):.0f} ms, p99 {p99:.0f} ms, max {ms[-1]:.0f} ms ({len(ms)})"


def main():
    lockstep, pod, work, twin = sys.argv[1], *(pathlib.Path(word) for word in sys.argv[2:])
    seed = int(os.environ.get("SEED", "0")) or random.randrange(1, 1 << 31)
    print(f"LOCKSTEP_SOAK_S={SECONDS} SEED={seed}", flush=True)
    (work / "serve.yaml").write_text(
        "apiVersion: lockstep.dev/v1alpha1\nkind: ServiceConfig\nspec:\n"
        f"  folder: {pod}\n  interval: 60s\n  resync: {RESYNC_S}s\n  measure: false\n"
        f"  api: {{listen: ['unix:{work}/api/api.sock']}}\n")
    hands = {device: Hand(f"ls-{twin.name}-{device}") for device in PORTS}

    def soak(name, seconds, drifts, heals):
        step(name)
        service = Service(lockstep, pod, work, name)
        until(SLACK_S, "the specs are in force", lambda: service.has_told("ChangeKept"))
        until(SLACK_S, "all devices were read", lambda: len(service.observed()) == len(service.ready()) == len(PORTS))
        service.watch_all()
        one = Soak(service, hands, drifts, heals, random.Random(seed))
        if LONG and not heals:
            start = service.sample(work / "state")
            service.fill_log(PORTS)
            before = service.sample(work / "state")
            service.samples.clear()
        one.run(seconds, work / "state")
        one.report()
        print("    seen once and in order, by watches that were never cut off: %d changes of objects, %d events"
              % service.check_watches(), flush=True)
        check_use(service.samples, seconds, heals)
        if LONG and not heals:
            service.fill_log(PORTS)
            after = service.sample(work / "state")
            of_log = (before["heap"] - start["heap"]) / (before["log"] - start["log"])
            grown = after["heap"] - before["heap"] - of_log * (after["log"] - before["log"])
            print(f"    with a full log before and after: allocated {before['heap'] / MIB:.1f} and {after['heap'] / MIB:.1f} MiB with "
                  f"{before['log'] / MIB:.1f} and {after['log'] / MIB:.1f} MiB of text, so {grown / MIB:+.2f} MiB, "
                  f"{grown / seconds:.0f} bytes a drift; RSS {before['rss'] / MIB:.1f} and {after['rss'] / MIB:.1f} MiB", flush=True)
            demand(grown < LEAK_MOST * seconds, "memory is lost")
        service.end()

    observes = SECONDS * 2 // 3 if not LONG else SECONDS - 300
    soak("it observes", observes, all_drifts(), False)
    cluster = pod / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("  # mode: converge ", "  mode: converge  # "))
    healed = [one for one in all_drifts() if one.device in HEALED and one.kind not in ("link", "diverted")]
    healed += [of_address("leaf0", f"10.64.{78 + number // 254}.{1 + number % 254}/32") for number in range(SECONDS - observes)]
    soak("it heals", SECONDS - observes, healed, True)
    print("passed", flush=True)


main()
