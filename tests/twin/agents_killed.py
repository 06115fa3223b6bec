"""kill -9 of controllers and agents at random points of applies: agents_killed.sh makes the twin and states the purpose.
Usage: agents_killed.py LOCKSTEP POD RUN_FOLDER, with LOCKSTEP_STATE_DIR, LOCKSTEP_KILLS and SEED set."""
import os
import random
import sys
import time

from agent_pod import DEVICES, HOSTS, IDLE, LEAVES, SPINES, UNDO_AFTER_S, Controller, Pod, demand, step, until

SLACK_S = 15
VICTIMS = ("controller", "agents", "both")


class Trial:
    def __init__(self, pod, kills, seed):
        self.pod, self.kills, self.random = pod, kills, random.Random(seed)
        self.spoken = {"mtu": 9000, "idle": 0, "paths": 64}
        self.kills_of = dict.fromkeys(DEVICES, 0)
        self.typical = 2.0  # s of an apply that nobody disturbs; learned
        self.told = {"left armed": 0, "rolled back by itself": 0, "ended well": 0, "agents killed": 0, "controllers killed": 0,
                     "killed again at once": 0}

    def change(self):
        self.before = dict(self.spoken)
        self.spoken = {"mtu": 8000 + 8 * self.random.randrange(120), "idle": 1 - self.spoken["idle"],
                       "paths": self.random.choice([one for one in (8, 16, 32, 64) if one != self.spoken["paths"]])}
        self.pod.say(**self.spoken)

    # By ip(8), sysctl(8) and FRR's vty.
    def is_set(self, allowed):
        """Each setting has one of the values `allowed`: {"mtu": {..}, ..}."""
        for one in HOSTS:
            for port in ("rail0", "rail1"):
                demand(self.pod.mtu(one, port) in allowed["mtu"], one, port, "has MTU", self.pod.mtu(one, port), "of", allowed)
            demand(int(self.pod.sysctl(one, IDLE)) in allowed["idle"], one, IDLE, self.pod.sysctl(one, IDLE), "of", allowed)
        for one in LEAVES + SPINES:
            demand(self.pod.paths(one) in allowed["paths"], one, "maximum-paths", self.pod.paths(one), "of", allowed)

    def kill(self, controller):
        """Returns the agents that were killed."""
        whom = self.random.choice(VICTIMS)
        agents = self.random.sample(DEVICES, self.random.randint(1, 3)) if whom != "controller" else []
        # Half of them soon after a moment at which something is armed.
        armed = self.random.random() < 0.5
        after = self.random.uniform(0, 0.15 if armed else 1.1 * self.typical)
        names = (["the controller"] if whom != "agents" else []) + agents
        print(f"    kills {', '.join(names)} {after:.2f} s after {'something is armed' if armed else 'the start'}", flush=True)
        skipped = self.random.randrange(4) if armed else 0  # armed moments
        while armed and controller.runs() and skipped >= 0:
            while controller.runs() and not self.pod.armed():
                time.sleep(0.001)
            skipped -= 1
            while skipped >= 0 and controller.runs() and self.pod.armed():
                time.sleep(0.001)
        end = time.monotonic() + after
        while controller.runs() and time.monotonic() < end:
            time.sleep(0.001)
        for one in agents:
            demand(self.pod.kill_agent(one), one, "has no agent")
            self.told["agents killed"] += 1
            self.kills_of[one] += 1
        if whom != "agents" and controller.runs():
            controller.kill()
            self.told["controllers killed"] += 1
        return agents

    def restart(self, agents):
        for one in agents:
            answer = self.pod.restart_agent(one)
            demand(answer.get("started"), one, "does not start again:", answer)
            if self.random.random() < 0.3:
                self.pod.kill_agent(one)
                self.told["killed again at once"] += 1
                self.kills_of[one] += 1
                answer = self.pod.restart_agent(one)
                demand(answer.get("started"), one, "does not start again:", answer)

    def round(self, number):
        step("kill", number)
        self.change()
        controller = Controller(self.pod)
        agents = self.kill(controller)
        began = time.monotonic()
        later = self.random.uniform(0, 3)
        if not controller.runs() and self.random.random() < 0.5:  # else its apply would wait for them for minutes
            later = self.random.uniform(0, UNDO_AFTER_S + 2) if self.random.random() < 0.1 else 0
        time.sleep(later if agents else 0)
        self.restart(agents)
        code, text = controller.ended()
        demand(code in (0, 1, -9), "an apply ended with", code, text)
        armed = self.pod.armed()
        self.told["left armed"] += bool(armed)
        self.told["ended well"] += code == 0
        print(f"    the apply ended with {code} {time.monotonic() - began:.1f} s later; armed: {', '.join(armed) or 'none'}", flush=True)
        either = {what: {self.before[what], self.spoken[what]} for what in self.spoken}
        # Nobody comes for a while, once in a run and each time by the odds: the agents themselves are enough.
        if armed and (not self.told["rolled back by itself"] or self.random.random() < 0.1):
            until(UNDO_AFTER_S + SLACK_S, lambda: f"none armed: {self.pod.armed().keys()}", lambda: not self.pod.armed(), 0.2)
            self.told["rolled back by itself"] += 1
        self.is_set(either)
        self.pod.converges()
        self.is_set({what: {value} for what, value in self.spoken.items()})
        self.nothing_forgotten()
        self.undisturbed()

    def nothing_forgotten(self):
        for one in DEVICES:
            journal = self.pod.journal(one)
            demand(not journal.get("failed"), one, "could not roll back:", journal.get("failed"))
            demand(self.pod.agent(one, "status")[0] == 0, one, "refuses writes:", self.pod.agent(one, "status")[1])
            folder = self.pod.agent_folder(one) / "journal"
            # A file that a killed agent was about to rename stays.
            strange = [file.name for file in folder.iterdir() if file.name not in ("journal.json", "lock")]
            unrenamed = [name for name in strange if name.startswith(".lockstep-")]
            demand(strange == unrenamed and len(unrenamed) <= self.kills_of[one], one, "has left", strange, "in", folder)

    def undisturbed(self):
        """A second apply has nothing to do."""
        began = time.monotonic()
        code, text = self.pod.apply()
        demand(code == 0 and "nothing to do" in text, "a second apply ended with", code, text)
        return time.monotonic() - began


def main():
    pod = Pod(*sys.argv[1:4])
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1_000_000))
    kills = int(os.environ.get("LOCKSTEP_KILLS") or 6)
    print(f"SEED={seed} LOCKSTEP_KILLS={kills}", flush=True)
    trial = Trial(pod, kills, seed)
    pod.converges()
    trial.change()
    began = time.monotonic()
    pod.converges()
    trial.typical = time.monotonic() - began
    for number in range(1, kills + 1):
        trial.round(number)
    print(", ".join(f"{count} {what}" for what, count in trial.told.items()), "; in sync at the end")


main()
