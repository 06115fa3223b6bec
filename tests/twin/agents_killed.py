"""kill -9 of controllers and agents at random points of applies: agents_killed.sh makes the twin and states the purpose.
Usage: agents_killed.py specs POD; agents_killed.py kill LOCKSTEP POD RUN_FOLDER, with LOCKSTEP_STATE_DIR, LOCKSTEP_KILLS and
SEED set."""
import json
import os
import pathlib
import random
import re
import sys
import time
import uuid

from agent_pod import UNDO_AFTER_S, Controller, Pod, demand, run, step, until

SLACK_S = 15
DEVICES = ["gpu1", "gpu2", "leaf0"]
LEAF = "leaf0"
VICTIMS = ("controller", "agents", "both")
# What is changed, with the values that it may have: several settings of a host in one transaction, so that half of one shows.
SYSCTLS = {"net.ipv4.tcp_fin_timeout": (30, 90), "net.ipv4.tcp_keepalive_time": (3000, 9000), "net.ipv4.tcp_keepalive_intvl": (20, 90),
           "net.ipv4.tcp_keepalive_probes": (3, 30), "net.ipv4.tcp_orphan_retries": (1, 8), "net.ipv4.tcp_retries2": (8, 15)}
PATHS = (1, 64)


def write_specs(folder, device, values):
    """`values`: of the host's sysctls in their order, or of the switch's number of paths."""
    if device == LEAF:
        file = pathlib.Path(folder) / "pod.yaml"
        file.write_text(re.sub(r"(maxPaths: )\d+", lambda m: m.group(1) + str(values[0]), file.read_text()))
        return
    settings = ", ".join(f"{name}: {value}" for name, value in zip(SYSCTLS, values))
    (pathlib.Path(folder) / f"{device}.yaml").write_text(
        f"apiVersion: lockstep.dev/v1alpha1\nkind: HostProfile\nmetadata: {{name: {device}}}\n"
        f"spec:\n  selector: {{matchLabels: {{host: {device}}}}}\n  sysctl: {{{settings}}}\n")


def first_values(device):
    return (PATHS[1],) if device == LEAF else tuple(low for low, _ in SYSCTLS.values())


class Trial:
    def __init__(self, pod, seed):
        self.pod, self.random = pod, random.Random(seed)
        self.spoken = {one: first_values(one) for one in DEVICES}
        self.typical = 1.0  # s of an apply that nobody disturbs; learned
        self.told = {"left armed": 0, "rolled back in time": 0, "tried again": 0, "rolled back after a restart": 0, "ended well": 0,
                     "agents killed": 0, "controllers killed": 0, "killed again at once": 0, "left old": 0, "left new": 0, "reverted": 0}

    def change(self):
        """Of one or two devices, each of their settings: the devices."""
        self.before = dict(self.spoken)
        devices = self.random.sample(DEVICES, self.random.choice([1, 1, 2]))
        for one in devices:
            ranges = [PATHS] if one == LEAF else SYSCTLS.values()
            self.spoken[one] = tuple(self.random.choice([number for number in range(low, high + 1) if number != was])
                                     for (low, high), was in zip(ranges, self.before[one]))
            write_specs(self.pod.folder, one, self.spoken[one])
        return devices

    def revert(self):
        self.spoken = dict(self.before)
        for one in DEVICES:
            write_specs(self.pod.folder, one, self.spoken[one])

    # By sysctl(8) and FRR's vty.
    def have(self, device):
        if device == LEAF:
            return (self.pod.paths(device),)
        return tuple(int(value) for value in self.pod.sysctl(device, *SYSCTLS).split())

    def whole(self):
        """No device has a part of its change: {device: whether it has the new values}, of those that were to change."""
        out = {}
        for one in DEVICES:
            have = self.have(one)
            demand(have in (self.before[one], self.spoken[one]), one, "has", have, "neither", self.before[one], "nor", self.spoken[one])
            if self.before[one] != self.spoken[one]:
                out[one] = have == self.spoken[one]
        return out

    def drift_says(self, new):
        """The devices whose values are not the new ones."""
        code, text = self.pod.command("drift", "--twin", "-o", "json")
        demand(code == (0 if all(new.values()) else 2), "drift ended with", code, "new:", new, text)
        said = {item["device"] for item in json.loads(text[text.index("{"):])["items"] if item["state"] == "drifted"}
        demand(said == {one for one, is_new in new.items() if not is_new}, "drift says", said, "and new are", new)

    def kill(self, controller, changed):
        """Returns the agents that were killed."""
        whom = self.random.choice(VICTIMS)
        agents = self.random.sample(changed, self.random.randint(1, len(changed))) if whom != "controller" else []
        # Half of them soon after something is armed.
        armed = self.random.random() < 0.5
        after = self.random.uniform(0, 0.08 if armed else 1.1 * self.typical)
        names = (["the controller"] if whom != "agents" else []) + agents
        print(f"    kills {', '.join(names)} {after:.2f} s after {'something is armed' if armed else 'the start'}", flush=True)
        while armed and controller.runs() and not self.pod.armed():
            time.sleep(0.001)
        end = time.monotonic() + after
        while controller.runs() and time.monotonic() < end:
            time.sleep(0.001)
        for one in agents:
            demand(self.pod.kill_agent(one), one, "has no agent")
            self.told["agents killed"] += 1
        if whom != "agents" and controller.runs():
            controller.kill()
            self.told["controllers killed"] += 1
        return agents

    def start(self, agent):
        answer = self.pod.restart_agent(agent)
        demand(answer.get("started"), agent, "does not start again:", answer)

    def restart(self, agents):
        for one in agents:
            self.start(one)
            if self.random.random() < 0.3:
                self.pod.kill_agent(one)
                self.told["killed again at once"] += 1
                self.start(one)

    def machines_restart(self, devices):
        """What an agent takes for that: another boot id."""
        for one in devices:
            self.pod.kill_agent(one)
            (self.pod.agent_folder(one) / "boot_id").write_text(f"{uuid.uuid4()}\n")
            self.start(one)
        until(SLACK_S, lambda: f"armed after a restart: {self.pod.armed().keys()}", lambda: not self.pod.armed())
        for one in devices:
            demand(self.have(one) == self.before[one], one, "has", self.have(one), "after a restart, not", self.before[one])
        self.told["rolled back after a restart"] += len(devices)

    def settle(self):
        """What a killed controller has left armed. Nobody comes for it: once for a host, and by the odds, until its time is up."""
        armed = self.pod.armed()
        self.told["left armed"] += bool(armed)
        is_first = self.written_hosts(armed) and not self.told["tried again"]
        if is_first or (armed and self.random.random() < 0.02):
            self.time_runs_out(armed)
        elif armed and self.random.random() < 0.5:
            self.machines_restart(armed)

    def written_hosts(self, armed):
        """Of those armed. A controller that died between its arm and its write leaves a host with nothing to roll back."""
        hosts = [one for one in armed if one != LEAF]
        for one in hosts:  # its agent may still be at the write of a controller that is gone
            until(SLACK_S, lambda: f"{one} has {self.have(one)}, neither old nor new",
                  lambda: self.have(one) in (self.before[one], self.spoken[one]))
        return [one for one in hosts if self.have(one) == self.spoken[one]]

    def time_runs_out(self, armed):
        """A written host's rollback fails at first, as its kernel takes no value, and is tried until it does."""
        hosts = self.written_hosts(armed)
        for one in hosts:
            self.sysctls_are_read_only(one, True)
        until(UNDO_AFTER_S + SLACK_S, lambda: f"armed: {self.pod.armed()}, written: {hosts}", lambda: self.only_fails(hosts), 0.2)
        for one in hosts:
            demand("being rolled back" in self.pod.agent(one, "status")[1], one, "does not say it:", self.pod.agent(one, "status"))
            demand(self.have(one) in (self.before[one], self.spoken[one]), one, "has", self.have(one), "from a rollback that fails")
            self.sysctls_are_read_only(one, False)
        until(SLACK_S, lambda: f"armed: {self.pod.armed().keys()}", lambda: not self.pod.armed(), 0.2)
        for one in armed:
            demand(self.have(one) == self.before[one], one, "has", self.have(one), "and was not rolled back to", self.before[one])
        self.told["rolled back in time"] += 1
        self.told["tried again"] += len(hosts)

    def only_fails(self, hosts):
        armed = self.pod.armed()
        return armed.keys() == set(hosts) and all(state.get("rollingBackSinceNs") for state in armed.values())

    def sysctls_are_read_only(self, host, are):
        """For its agent, in the agent's mount namespace."""
        inside = ["nsenter", "--mount", f"--target={self.pod.agent_pid(host)}"]
        if are:
            run(*inside, "mount", "--bind", "/proc/sys/net", "/proc/sys/net")
            run(*inside, "mount", "-o", "remount,bind,ro", "/proc/sys/net")
        else:
            run(*inside, "umount", "/proc/sys/net")

    def round(self, number):
        step("kill", number)
        changed = self.change()
        controller = Controller(self.pod)
        agents = self.kill(controller, changed)
        time.sleep(self.random.choice([0, self.random.uniform(0, 1)]) if agents else 0)
        self.restart(agents)
        code, text = controller.ended()
        demand(code in (0, 1, -9) or (code == 3 and agents), "an apply ended with", code, text)
        self.told["ended well"] += code == 0
        print(f"    the apply ended with {code}; armed: {', '.join(self.pod.armed()) or 'none'}", flush=True)
        self.settle()
        if not self.pod.armed():  # else the next apply settles it
            new = self.whole()
            self.drift_says(new)
            for is_new in new.values():
                self.told["left new" if is_new else "left old"] += 1
        if self.random.random() < 0.3:
            self.revert()
            self.told["reverted"] += 1
        self.pod.converges()
        for one in DEVICES:
            demand(self.have(one) == self.spoken[one], one, "has", self.have(one), "not", self.spoken[one])
        self.nothing_forgotten()

    def nothing_forgotten(self):
        for one in DEVICES:
            journal = self.pod.journal(one)
            demand(not journal.get("failed"), one, "could not roll back:", journal.get("failed"))
            demand(self.pod.agent(one, "status")[0] == 0, one, "refuses writes:", self.pod.agent(one, "status")[1])
            folder = self.pod.agent_folder(one) / "journal"
            # What a killed agent was about to rename, its successor removes.
            unrenamed = [file.name for file in folder.iterdir() if file.name.startswith(".lockstep-")]
            demand(not unrenamed, one, "has left", unrenamed, "in", folder)


def main():
    if sys.argv[1] == "specs":
        for one in DEVICES:
            write_specs(sys.argv[2], one, first_values(one))
        return
    pod = Pod(*sys.argv[2:5], devices=DEVICES)
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1_000_000))
    kills = int(os.environ.get("LOCKSTEP_KILLS") or 30)
    print(f"SEED={seed} LOCKSTEP_KILLS={kills}", flush=True)
    trial = Trial(pod, seed)
    pod.converges()
    trial.change()
    began = time.monotonic()
    code, text = pod.apply()
    demand(code == 0, "apply ended with", code, text)
    trial.typical = time.monotonic() - began
    for number in range(1, kills + 1):
        trial.round(number)
    print(", ".join(f"{count} {what}" for what, count in trial.told.items()), "; in sync at the end")


main()
