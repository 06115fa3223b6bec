"""What a device behind an agent does when the path to its controller is cut by another hand, in six ways, its controller is
killed, or its machine restarts: agents_dead_man.sh makes the twin and states the purpose.
Usage: agents_dead_man.py LOCKSTEP POD RUN_FOLDER, with LOCKSTEP_STATE_DIR set."""
import json
import shutil
import sys
import time
import uuid

from agent_pod import HOSTS, UNDO_AFTER_S, Pod, demand, differing, run, step, until

SLACK_S = 10  # for the rollback itself, on a busy machine


class Cut:
    """A way to cut the management path of a device, and to restore it."""

    def __init__(self, name, cut, restore):
        self.name, self.cut, self.restore = name, cut, restore


def address_again(pod, device):
    # The kernel removes a port's IPv6 addresses when it goes down, and leaves them away.
    pod.ip(device, "-6", "address", "replace", pod.address(device) + "/64", "dev", "mgmt0", "nodad")


def management_prefix(pod, device):
    [prefix] = [one["dst"] for one in json.loads(pod.ip(device, "-6", "-j", "route", "show", "dev", "mgmt0"))
                if one["dst"].startswith("fd6c:")]
    return prefix


def filter_added(pod, device):
    pod.inside(device, "nft", "add table inet cut; add chain inet cut in { type filter hook input priority 0; }; "
                              "add chain inet cut out { type filter hook output priority 0; }; "
                              "add rule inet cut in iifname mgmt0 drop; add rule inet cut out oifname mgmt0 drop")


def port_restored(pod, device):
    pod.ip(device, "link", "set", "mgmt0", "up")
    address_again(pod, device)


def rule_removed(pod, device):
    # IPv6 looks at rules only once there was one beside its own (fib6_has_custom_rules).
    pod.ip(device, "-6", "rule", "add", "pref", "40000", "unreachable")
    pod.ip(device, "-6", "rule", "del", "pref", "32766")


def rule_restored(pod, device):
    pod.ip(device, "-6", "rule", "add", "pref", "32766", "lookup", "main")
    pod.ip(device, "-6", "rule", "del", "pref", "40000")


PREFIX = "fd6c:6f63:6b73::/64"
CUTS_WITHOUT_A_CONTROLLER = {
    "gpu3": Cut("its route to the management network is removed",
                lambda pod, device: pod.ip(device, "-6", "route", "del", management_prefix(pod, device), "dev", "mgmt0"),
                lambda pod, device: pod.ip(device, "-6", "route", "add", PREFIX, "dev", "mgmt0", "proto", "kernel", "metric", "256")),
    "gpu4": Cut("the rule that looks its routes up is removed", rule_removed, rule_restored),
}
CUTS = {
    "gpu1": Cut("its management port is set down", lambda pod, device: pod.ip(device, "link", "set", "mgmt0", "down"),
                port_restored),
    "gpu2": Cut("its management address is removed",
                lambda pod, device: pod.ip(device, "-6", "address", "del", pod.address(device) + "/64", "dev", "mgmt0"), address_again),
    "gpu3": Cut("a filter drops its management traffic", filter_added,
                lambda pod, device: pod.inside(device, "nft", "delete table inet cut")),
    "gpu4": Cut("the switch above sets its port down",
                lambda pod, device: pod.ip("@controller", "link", "set", f"to-{device}", "down"),
                lambda pod, device: pod.ip("@controller", "link", "set", f"to-{device}", "up")),
}


class Armed:
    """Devices stopped in mid-change, and how they were before it."""

    def __init__(self, pod, mtu):
        self.pod, self.mtu = pod, mtu

        def says(number):
            self.was = {one: pod.state(one) for one in HOSTS}
            self.mtu_was = pod.mtu(HOSTS[0])
            pod.say(mtu=self.mtu - 8 * number)
            self.want = self.mtu - 8 * number

        self.controller = pod.armed_controller(says)
        self.since = time.monotonic()
        self.transactions = {one: armed["transaction"] for one, armed in pod.armed().items()}
        for one in HOSTS:
            # What is journalled is about to be written; nobody stops the agent.
            until(5, lambda one=one: f"{one} is armed, and has MTU {pod.mtu(one)}, not {self.want}",
                  lambda one=one: pod.mtu(one) == self.want)

    def rolled_back(self):
        """By itself and in time; afterwards each value is as it was, or of an earlier step that was kept."""
        left = UNDO_AFTER_S + SLACK_S - (time.monotonic() - self.since)
        until(left, lambda: f"armed: {self.pod.armed().keys()}", lambda: not self.pod.armed().keys() & set(HOSTS), 0.2)
        took = time.monotonic() - self.since
        self.now = {one: self.pod.state(one) for one in HOSTS}
        for one in HOSTS:
            self.was_rolled_back(one)
            for port in ("rail0", "rail1"):
                demand(self.pod.mtu(one, port) == self.mtu_was, one, port, "has MTU", self.pod.mtu(one, port), "not",
                       self.mtu_was)
        print(f"rolled back within {took:.0f} s", flush=True)

    def was_rolled_back(self, device):
        settled = {one["transaction"]: one["kept"] for one in self.pod.journal(device)["settled"]}
        demand(settled.get(self.transactions[device]) is False, device, "does not say that it rolled back", self.transactions[device])

    def compared_with_the_end(self):
        """Call it once the change is made: whatever differed after the rollback was a kept step of the same change."""
        for one in HOSTS:
            end = self.pod.state(one)
            half = {what: values for what, values in differing(self.was[one], self.now[one]).items()
                    if values[1] != end.get(what)}
            demand(not half, one, "was neither before nor after the change:", half)
            kept = differing(self.was[one], self.now[one])
            whole = differing(self.was[one], end)
            demand(len(kept) < len(whole), one, "was not rolled back:", kept)
            demand(self.pod.mtu(one) == self.want, one, "has MTU", self.pod.mtu(one), "not", self.want)


def cut_all(pod, cuts):
    for device, cut in cuts.items():
        cut.cut(pod, device)
        demand(not pod.answers(device), device, "is reachable although", cut.name)


def restore_all(pod, cuts):
    for device, cut in cuts.items():
        cut.restore(pod, device)
        until(20, f"{device} is reachable again", lambda one=device: pod.answers(one), 0.2)


def machines_restart(pod):
    """One with a bare namespace, as a network that nothing restores; one with all that was written, as one that is restored."""
    bare, restored = "gpu1", "gpu2"
    armed = Armed(pod, 8400)
    armed.controller.kill()
    boot_id = (pod.agent_folder(bare) / "boot_id").read_text()
    pod.kill_agent(restored)
    (pod.agent_folder(restored) / "boot_id").write_text(f"{uuid.uuid4()}\n")
    demand(pod.restart_agent(restored).get("started"), restored, "does not start again")
    with open(f"/run/netns/{pod.netns(bare)}"):  # as by somebody's shell in it: the kernel keeps the namespace
        run("ip", "netns", "delete", pod.netns(bare))
        code, text = pod.command("twin", "up", "--agents", "--link-rate", "100Mbps")
    demand(code == 0, "twin up ended with", code, text)
    demand((pod.agent_folder(bare) / "boot_id").read_text() != boot_id, bare, "has the same boot id")
    until(SLACK_S, lambda: f"armed: {pod.armed().keys()}", lambda: not pod.armed().keys() & {bare, restored})
    took = time.monotonic() - armed.since
    demand(took < UNDO_AFTER_S, "rolled back only after", took, "s, when their time was up")
    for one in (bare, restored):
        armed.was_rolled_back(one)
    for port in ("rail0", "rail1"):
        demand(pod.mtu(restored, port) == armed.mtu_was, restored, port, "has MTU", pod.mtu(restored, port), "not", armed.mtu_was)
        demand(pod.mtu(bare, port) == 1500, bare, port, "was bare, and has MTU", pod.mtu(bare, port))
    print(f"rolled back {took:.0f} s after it was armed", flush=True)
    pod.converges(within_s=SLACK_S)
    for one in HOSTS:
        demand(pod.mtu(one) == armed.want, one, "has MTU", pod.mtu(one), "not", armed.want)


def main():
    pod = Pod(*sys.argv[1:4])
    demand(shutil.which("nft"), "nft is missing")
    pod.one_wave()
    pod.converges()
    for one in HOSTS:
        demand(pod.answers(one), one, "is not reachable")

    step("kill -9 of the controller; " + "; ".join(f"{one}: {cut.name}" for one, cut in CUTS_WITHOUT_A_CONTROLLER.items()))
    armed = Armed(pod, 8800)
    armed.controller.kill()
    cut_all(pod, CUTS_WITHOUT_A_CONTROLLER)
    armed.rolled_back()
    restore_all(pod, CUTS_WITHOUT_A_CONTROLLER)
    pod.converges()
    armed.compared_with_the_end()

    step("the controller goes on, and " + "; ".join(f"{one}: {cut.name}" for one, cut in CUTS.items()))
    armed = Armed(pod, 8600)
    cut_all(pod, CUTS)
    armed.controller.go_on()
    armed.rolled_back()
    restore_all(pod, CUTS)
    code, text = armed.controller.ended()
    print(text, flush=True)
    demand(code in (0, 1), "an apply that lost four devices for a while ended with", code)
    if code == 0:  # it wrote once more
        demand(pod.drift()[0] == 0, "an apply that ended well left drift:", pod.drift()[1])
    pod.converges()
    armed.compared_with_the_end()
    step("two machines restart while their change is armed")
    machines_restart(pod)


main()
