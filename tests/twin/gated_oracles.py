"""Oracles of killed_gated_applies.py, none of which uses lockstep: the journal's rows, read with SQLite; the devices'
values, read from ip, the kernel and vtysh; and a Book that derives from them what must hold."""
import collections
import contextlib
import json
import re
import sqlite3
import subprocess

BEGUN, KEPT, UNDONE, FAILED = range(4)  # tickets.state: TicketState
OWED, SETTLED = 1, 2  # changes.gate: GateState
FORWARD = "lockstep apply"  # changes.reason of a change that a user requested

Change = collections.namedtuple("Change", "id ended outcome reason gate before subjects tickets")
Ticket = collections.namedtuple("Ticket", "name device state writes")
Written = collections.namedtuple("Written", "device path found wrote tried")


class Broken(Exception):
    """A promise was not kept."""


def demand(holds, *what):
    if not holds:
        raise Broken(" ".join(str(one) for one in what))


def told(value):
    return " ".join(str(value).split())


class Ledger:
    """The content of the journal at one moment."""

    def __init__(self, file):
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)) as rows:
            rows.execute("BEGIN")
            tickets = collections.defaultdict(list)
            for name, change, device, state, writes in rows.execute(
                "SELECT ticket, change, device, state, writes FROM tickets ORDER BY rowid"
            ):
                tickets[change].append(Ticket(name, device, state, json.loads(writes)))
            self.changes = {
                row[0]: Change(*row, tuple(tickets[row[0]]))
                for row in rows.execute(
                    "SELECT id, ended, outcome, reason, gate, measured_before, subjects FROM changes ORDER BY id")
            }
            self.written = [
                Written(device, path, json.loads(found), json.loads(wrote), tried)
                for device, path, found, wrote, tried in rows.execute(
                    "SELECT device, path, found, wrote, tried FROM written"
                )
            ]

    def new_since(self, before):
        return [one for one in self.changes.values() if one.id not in before.changes]

    def may_be_owed(self):
        """Changes under a gate that are not validated yet, with a write that may have happened."""
        return {
            one.id
            for one in self.changes.values()
            if one.gate == OWED and any(ticket.state != UNDONE for ticket in one.tickets)
        }

    def in_flight(self):
        """Changes and tickets that are still open; a run that ended normally must not leave any."""
        return [one.id for one in self.changes.values() if one.ended is None] + [
            ticket.name for one in self.changes.values() for ticket in one.tickets if ticket.state == BEGUN
        ]


class Devices:
    """The values that this test changes, as the devices' own tools report them, under the journal's names."""

    HOST = ("cd /proc/sys/net/ipv4; echo rmem $(cat tcp_rmem); echo ttl $(cat ip_default_ttl); "
            "echo idle $(cat tcp_slow_start_after_idle); ip -o link")
    SWITCH = "ip -o link; vtysh -c 'show running-config'"
    ROWS = {
        "rmem": "sysctl[net.ipv4.tcp_rmem]",
        "ttl": "sysctl[net.ipv4.ip_default_ttl]",
        "idle": "sysctl[net.ipv4.tcp_slow_start_after_idle]",
    }

    def __init__(self, lockstep, pod):
        self.hosts = ["gpu1", "gpu2", "gpu3"]
        self.switches = ["leaf0", "leaf1", "spine0", "spine1"]
        self.command = lambda device, *words: [lockstep, "twin", "exec", pod, device, "--", *words]

    def run(self, device, *words):
        return subprocess.run(self.command(device, *words), check=True, capture_output=True, text=True).stdout

    def values(self):
        """{(device, path): value}; reads all devices at the same time."""
        asked = {
            device: subprocess.Popen(
                self.command(device, "sh", "-c", self.HOST if device in self.hosts else self.SWITCH),
                stdout=subprocess.PIPE,
                text=True,
            )
            for device in self.hosts + self.switches
        }
        out = {}
        for device, process in asked.items():
            text, _ = process.communicate(timeout=60)
            demand(process.returncode == 0, device, "could not be read:", text)
            for word, row in self.ROWS.items():
                for value in re.findall(rf"^{word} (.*)$", text, re.M):
                    out[device, row] = told(value)
            for port, mtu in re.findall(r"^\d+: ((?:rail|swp|up|down)\d+)@?\S* .*? mtu (\d+) ", text, re.M):
                out[device, f"interface[{port}]/mtu"] = mtu
            if device in self.switches:
                paths = set(re.findall(r"maximum-paths (\d+)", text))
                demand(len(paths) <= 1, device, "has several:", paths)
                if "router bgp" in text:
                    out[device, "bgp/max-paths"] = paths.pop() if paths else "64"  # FRR does not write its default
        return out


def differing(one, other):
    return {where for where in one | other if one.get(where) != other.get(where)}


def undone_by(change):
    of = re.match(r"(?:undo|rollback) of change (.*)", change.reason)
    return {int(one) for one in re.findall(r"\d+", of.group(1))} if of else set()


class Book:
    """The writes that are not judged yet, from reports of runs and values of devices; `base`: the values without them."""

    def __init__(self, base):
        self.base = base
        self.open = {}  # change: {(device, path) that it wrote: the value before}
        self.stays = {}  # (device, path): value that a change left that was judged and kept, since all was settled
        self.closed = set()

    def run_over(self, run, before, after, was, now):
        self.rows_stay(before, after)
        self.nothing_without_ticket(before, after, was, now)
        self.nothing_settled_is_undone(before, after)
        self.nothing_settled_is_judged(run)
        self.all_open_is_taken_on(run, before)
        for change in after.new_since(before):
            wants = [((ticket.device, one["path"]), told(one["want"]))
                     for ticket in change.tickets for one in ticket.writes]
            wrote = {where: was.get(where) for where, want in wants if now.get(where) == want != was.get(where)}
            if wrote and run.measures and change.reason == FORWARD:
                self.open[change.id] = wrote
        undone = {number for change in after.new_since(before) for number in undone_by(change)}
        for change in list(self.open):
            self.close(after.changes[change], run, now, change in undone, before.changes.get(change))

    def close(self, change, run, now, undone, was):
        taken_back = all(now[where] in (old, self.base[where]) for where, old in self.open[change.id].items())
        demand(change.gate in (OWED, SETTLED), "change", change.id, "was written under no gate")
        if change.gate == OWED:
            demand(change.before is not None, "change", change.id, "was written, and what was before it is not kept")
            demand(run.killed or not run.measures or run.verdict != "kept" or run.code == 3,
                   "change", change.id, "is still owed after", run.verdict)
            return
        demand(change.before is None, "change", change.id, "is settled, and what was before it is kept still")
        demand(run.measures, "change", change.id, "was settled by a run that does not measure")
        # A change of an earlier run is judged by the first gate of this run that can decide, whatever the later waves do.
        judged = run.judged or (was is not None and run.gate)
        demand(taken_back or judged, "change", change.id, "is settled, and nobody judged it: it was forgotten")
        demand(taken_back or not undone, "change", change.id, "is settled as undone, and is still there")
        demand(run.killed or run.verdict != "kept, not validated" or self.was_told(change, was, run),
               "change", change.id, "is settled unvalidated")
        if not taken_back:
            self.stays.update((where, now[where]) for where in self.open[change.id])
        del self.open[change.id]
        self.closed.add(change.id)

    @staticmethod
    def was_told(change, was, run):
        """Returns whether the run could judge this change, although it could not judge another pair."""
        unsure = re.search(r"(\S+/\S+ bandwidth min, (\S+):rail(\d) -> (\S+):[^\s:]+)", run.gate)
        if was is not None and was.subjects:
            owed = json.loads(was.subjects)
            measured = all(one.split(", ")[1] in run.text for one in owed)
            return measured and (unsure is None or unsure.group(1) not in owed)
        devices = {ticket.device for ticket in change.tickets}
        if " not caused: " in run.gate:
            # The headline lists the pairs that were broken before. It does not name the undecided ones among the others:
            # any pair with some bandwidth may be undecided.
            hosts = all(one.startswith("gpu") for one in devices)
            pairs = re.findall(r"  pairs \d+/\d+  (\w+):\S+ -> (\w+):\S+  (.*)", run.text)
            mine = [said for source, sink, said in pairs if not hosts or devices & {source, sink}]
            return bool(mine) and not any(said.rstrip().endswith("bps") for said in mine)
        # Rail r of each host is cabled to leaf r, and pairs stay on their rail.
        return unsure is not None and not devices & {unsure.group(2), "leaf" + unsure.group(3), unsure.group(4)}

    @staticmethod
    def rows_stay(before, after):
        for old in before.changes.values():
            new = after.changes.get(old.id)
            demand(new is not None, "change", old.id, "is gone")
            if old.ended is None:
                demand(new.outcome in (None, "interrupted"), "change", old.id, "of a dead run ended as", new.outcome)
            else:
                demand((old.ended, old.outcome) == (new.ended, new.outcome), "change", old.id, "has another outcome")
            demand(new.gate == old.gate or (old.gate, new.gate) == (OWED, SETTLED),
                   "change", old.id, "went from gate", old.gate, "to", new.gate)
            for one, other in zip(old.tickets, new.tickets):
                demand(one == other or (one.state == BEGUN and other.state == FAILED), "ticket", one.name, "moved")

    @staticmethod
    def nothing_without_ticket(before, after, was, now):
        tickets = collections.defaultdict(set)
        for change in after.new_since(before):
            for ticket in change.tickets:
                for write in ticket.writes:
                    tickets[ticket.device, write["path"]].update((told(write["want"]), told(write["was"])))
        for where in differing(was, now):
            demand(now[where] in tickets[where], where, "is", now[where], "without a ticket; it was", was[where])
            demand(was[where] in tickets[where], where, "was", was[where], "and no ticket says so")

    def nothing_settled_is_undone(self, before, after):
        for change in after.new_since(before):
            again = self.closed & undone_by(change)
            demand(not again, "undone, although it was settled:", again)

    def nothing_settled_is_judged(self, run):
        demand(not self.closed & run.taken_on, "judged twice:", self.closed & run.taken_on)

    def all_open_is_taken_on(self, run, before):
        if not run.began:
            return
        demand(set(self.open) <= run.taken_on, "forgotten:", set(self.open) - run.taken_on)
        cut_off = {one.id for one in before.changes.values() if one.ended is None}
        demand(cut_off == run.found_in_flight, "in flight were", cut_off, "and it says", run.found_in_flight)

    def plan_told(self, numbers, ledger):
        demand(set(self.open) <= numbers, "the plan does not tell", set(self.open) - numbers)
        demand(numbers == ledger.may_be_owed(), "the plan tells", numbers, "and owed is", ledger.may_be_owed())
        demand(not numbers & self.closed, "the plan tells what is settled:", numbers & self.closed)

    def all_settled(self, now):
        """Returns whether no change is open; `now` then becomes the base."""
        if self.open:
            return False
        self.base = now
        self.stays = {}
        return True
