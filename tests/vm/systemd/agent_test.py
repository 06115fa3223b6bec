"""lockstep-agent under a real systemd, in its unit's sandbox: it starts at boot, makes every kind of change, heals what was changed by
hand, comes back when it is killed, and rolls back what nobody settles: over a stop and a start in time, after a crash of the
machine at once. The oracles are the machine's own tools. Usage: agent_test.py OUT LOCKSTEP KERNEL, as machine.sh calls it."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from machine import ENDS_WITH_TEST, Machine, demand, step

RUN_ENDS_S = 120  # longer is a hang: far beyond the slowest run
SERVES_S = 30
WRITES_S = 10  # of an armed change: three settings
PORT = 7443
AGENT = "lockstep-agent.service"
JOURNAL = "/var/lib/lockstep-agent/journal.json"
# What the specs set: by its path, how the machine itself shows it, the value that the specs want first, and what changes it by hand.
BRIDGE = "$(basename $(realpath /sys/class/net/rail0/device/..))"
SETTINGS = {
    "interface[rail0]/mtu": ("cat /sys/class/net/rail0/mtu", "9000", "ip link set rail0 mtu 1500"),
    "interface[rail0]/ring[rx]": ("ethtool -g rail0 | sed -n '/^Current/,$s/^RX:[[:space:]]*//p'", "1024", "ethtool -G rail0 rx 512"),
    "interface[rail0]/coalescing/time[rx]": ("ethtool -c rail0 | sed -n 's/^rx-usecs: *//p'", "20", "ethtool -C rail0 rx-usecs 50"),
    "interface[rail0]/ecn-threshold": ("tc filter show dev rail0 egress | grep -c 'pref 76 bpf.*jited'", "1",
                                       "tc qdisc del dev rail0 clsact"),
    "sysctl[net.ipv4.tcp_fin_timeout]": ("cat /proc/sys/net/ipv4/tcp_fin_timeout", "30", "sysctl -w net.ipv4.tcp_fin_timeout=61"),
    "sysctl[vm.swappiness]": ("cat /proc/sys/vm/swappiness", "10", "sysctl -w vm.swappiness=61"),
    "pcie/acs": (f"setpci -s {BRIDGE} ECAP_ACS+6.w", "001d", f"setpci -s {BRIDGE} ECAP_ACS+6.w=0"),
    "memlock": ("grep -h memlock /etc/security/limits.d/60-lockstep.conf", "* - memlock unlimited",
                "rm /etc/security/limits.d/60-lockstep.conf"),
    "kernel/module[8021q]": ("grep -v '#' /etc/modules-load.d/60-lockstep.conf", "8021q", "rm /etc/modules-load.d/60-lockstep.conf"),
    # A file of somebody else, who keeps it.
    "nccl/cross-nic": ("stat -c %U /etc/nccl.conf; cat /etc/nccl.conf", "messagebus NCCL_DEBUG=WARN NCCL_CROSS_NIC=0",
                       "sed -i 's/NIC=.*/NIC=1/' /etc/nccl.conf"),
    "service[fabric-helper]": ("systemctl is-active fabric-helper; systemctl is-enabled fabric-helper", "active enabled",
                               "systemctl disable --now fabric-helper"),
}
CAPABILITIES = {"CAP_CHOWN": 0, "CAP_DAC_OVERRIDE": 1, "CAP_FOWNER": 3, "CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}  # linux/capability.h


class Test:
    def __init__(self, out, lockstep, kernel):
        self.out, self.lockstep, self.specs = out, lockstep, out / "specs"
        self.environment = dict(os.environ, LOCKSTEP_PKI_DIR=str(out / "controller"), LOCKSTEP_STATE_DIR=str(out / "state"),
                                LOCKSTEP_RUN_DIR=str(out / "run"))
        self.kernel, self.machine = kernel, Machine(out, kernel, PORT)
        self.wanted = {path: value for path, (_, value, _) in SETTINGS.items()}

    # The controller
    def start(self, *words):
        return subprocess.Popen([*ENDS_WITH_TEST, self.lockstep, *words, str(self.specs)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env=self.environment)

    def command(self, *words):
        """(exit code, output)"""
        process = self.start(*words)
        try:
            text, _ = process.communicate(timeout=RUN_ENDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            demand(False, words, "hangs:", process.communicate()[0])
        return process.returncode, text

    APPLY = ("apply", "--no-measure", "--yes", "--approve", "approval:traffic")

    def converges(self):
        code, text = self.command(*self.APPLY)
        demand(code == 0, "apply ended with", code, text)
        code, text = self.command("drift")
        demand(code == 0, "drift ended with", code, text)
        self.has(self.wanted)

    def change(self, mtu, fin_timeout, cross_nic):
        """The specs; what the machine had to have: for has()."""
        before = dict(self.wanted)
        file = self.specs / "pod.yaml"
        text = file.read_text()
        for pattern, value in ((r'(rail0\]/mtu": )\d+', mtu), (r"(tcp_fin_timeout: )\d+", fin_timeout), (r'(cross-nic": )\w+', cross_nic)):
            text, count = re.subn(pattern, lambda m: m.group(1) + str(value), text)
            demand(count == 1, "no", pattern, "in", file)
        file.write_text(text)
        number = {"never": 0, "allow": 1, "avoid": 2}[cross_nic]
        self.wanted |= {"interface[rail0]/mtu": str(mtu), "sysctl[net.ipv4.tcp_fin_timeout]": str(fin_timeout),
                        "nccl/cross-nic": f"messagebus NCCL_DEBUG=WARN NCCL_CROSS_NIC={number}"}
        return before

    # The machine
    def values(self):
        text = self.machine.run("set -f\n" + "\n".join(f'echo "$(echo $({shows} 2>&1))"' for shows, _, _ in SETTINGS.values()))
        return dict(zip(SETTINGS, text.split("\n"), strict=True))

    def differing(self, values, paths):
        found = self.values()
        return {path: (found[path], values[path]) for path in paths if found[path] != values[path]}

    def has(self, values, paths=SETTINGS):
        wrong = self.differing(values, paths)
        demand(not wrong, "(is, should be):", wrong)

    def agent(self, name):
        return self.machine.run(f"systemctl show -P {name} {AGENT}")

    def serves(self, other_than=""):
        """Waits for the unit to be active, with a process that listens: its id."""
        return self.machine.run(f"""for ((end = SECONDS + {SERVES_S}; SECONDS < end; )); do
            pid=$(systemctl show -P MainPID {AGENT})
            if [ "$pid" != "{other_than}" ] && systemctl is-active --quiet {AGENT}; then echo "$pid"; exit; fi
            sleep 0.1
        done
        exit 1""")

    def journal(self):
        return json.loads(self.machine.run(f"cat {JOURNAL}"))

    # What is tested
    def the_sandbox_is_on(self):
        pid = self.serves()
        demand(self.agent("Type") == "notify" and self.agent("NRestarts") == "0", "was restarted")
        demand(self.machine.answer(f"systemctl is-enabled {AGENT}") == (0, "enabled"), "is not enabled")
        code, text = self.machine.answer(f"systemd-analyze security --no-pager --threshold=33 {AGENT}")
        demand(code == 0, text)
        print("   ", text.splitlines()[-1], flush=True)
        status = dict(line.split(":\t", 1) for line in self.machine.run(f"cat /proc/{pid}/status").splitlines() if ":\t" in line)
        unit = self.machine.run(f"cat /lib/systemd/system/{AGENT}")
        names = re.search(r"^CapabilityBoundingSet=(.*)", unit, re.M)[1].split()
        for which in ("CapBnd", "CapPrm", "CapEff"):
            demand(int(status[which], 16) == sum(1 << CAPABILITIES[name] for name in names), which, "is", status[which])
        demand(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status)
        for folder in ("/usr", "/var", "/boot", "/etc/lockstep"):
            code, text = self.machine.answer(f"nsenter -m -t {pid} touch {folder}/x")
            demand(code != 0 and "Read-only" in text, folder, "is writable:", text)

    def heals(self):
        self.machine.run("echo NCCL_DEBUG=WARN >/etc/nccl.conf; chown messagebus: /etc/nccl.conf; chmod 640 /etc/nccl.conf")
        self.converges()
        self.machine.run("set -e\n" + "\n".join(by_hand for _, _, by_hand in SETTINGS.values()))
        found = self.values()
        unbroken = [path for path in SETTINGS if found[path] == self.wanted[path]]
        demand(not unbroken, "not changed by hand:", unbroken)
        code, text = self.command("drift", "--details")
        missing = [path for path in SETTINGS if path not in text]
        demand(code == 2 and not missing, "drift ended with", code, "and does not name", missing, text)
        self.converges()
        demand(self.machine.run("stat -c %a /etc/nccl.conf") == "640", "the mode of /etc/nccl.conf has changed")

    def comes_back(self):
        pid = self.serves()
        self.machine.run(f"kill -9 {pid}")
        self.serves(other_than=pid)
        demand(self.agent("NRestarts") == "1", "restarts:", self.agent("NRestarts"))
        self.converges()

    CHANGED = ("interface[rail0]/mtu", "sysctl[net.ipv4.tcp_fin_timeout]", "nccl/cross-nic")

    def left_armed(self, *values):
        """A change of which the controller died while it was armed, with the management network down: its values before, and the
        journal."""
        for number in range(5):
            before = self.change(*(value if index != 1 else value + number for index, value in enumerate(values)))
            # Cuts the network as soon as the journal says it.
            self.machine.send(f"""for ((end = SECONDS + 20; SECONDS < end; )); do
                if [[ $(<{JOURNAL}) == *'"armed":'* ]]; then ip link set mgmt0 down; exit; fi
            done; exit 1""")
            controller = self.start(*self.APPLY)
            code, _ = self.machine.receive() or (1, "")
            journal = self.journal()
            # Its settlement may have come first.
            if code == 0 and "armed" in journal and not journal["armed"]["rollingBack"]:
                controller.kill()
                controller.communicate()
                end = time.monotonic() + WRITES_S
                while self.differing(self.wanted, self.CHANGED) and time.monotonic() < end:
                    pass
                self.has(self.wanted, self.CHANGED)
                return before, journal["armed"]
            self.machine.run("ip link set mgmt0 up")
            text, _ = controller.communicate(timeout=RUN_ENDS_S)
            print("    missed the armed moment; the apply ended with", controller.returncode, text, flush=True)
        demand(False, "the armed moment was missed 5 times")

    def stops_and_starts(self):
        before, armed = self.left_armed(8000, 40, "avoid")
        self.machine.run(f"systemctl stop {AGENT}")
        demand(self.agent("ActiveState") == "inactive" and self.agent("Result") == "success", "does not stop")
        self.has(self.wanted, self.CHANGED)
        self.machine.run(f"systemctl start {AGENT}")
        again = self.journal().get("armed", {})
        demand(again.get("deadlineNs") == armed["deadlineNs"] and not again["rollingBack"], "does not go on:", armed, again)
        self.has(self.wanted, self.CHANGED)
        # The first look after the value is gone.
        text = self.machine.run("""value=$(</proc/sys/net/ipv4/tcp_fin_timeout)
            while [ "$(</proc/sys/net/ipv4/tcp_fin_timeout)" = "$value" ] && [ $SECONDS -lt 50 ]; do sleep 0.1; done; cat /proc/uptime""")
        late = float(text.split()[0]) - armed["deadlineNs"] / 1e9
        print(f"    rolled back {late:.1f} s after its time", flush=True)
        demand(0 <= late < 10, "rolled back", late, "s after its time")
        self.settled_in_vain(before)

    def crashes(self):
        before, armed = self.left_armed(7000, 50, "allow")
        self.machine.end()
        self.machine = Machine(self.out, self.kernel, PORT, number=2)
        demand(self.machine.boot_id != armed["bootId"], "the same boot")
        text = self.machine.run(f"""while [[ $(<{JOURNAL}) == *'"armed":'* ]] && [ $SECONDS -lt 50 ]; do sleep 0.1; done
            cat /proc/uptime""")
        self.serves()
        took = float(text.split()[-2]) - int(self.agent("ExecMainStartTimestampMonotonic")) / 1e6
        print(f"    rolled back {took:.1f} s after the start of the agent", flush=True)
        demand(took < armed["undoAfterMs"] / 2e3, "rolled back", took, "s after the start of the agent")
        self.settled_in_vain(before, ["nccl/cross-nic"])  # of this change only the file is left

    def settled_in_vain(self, before, paths=CHANGED):
        """The change was rolled back, and the next apply makes it."""
        end = self.machine.run(f"""for ((end = SECONDS + 10; SECONDS < end; )); do
            [[ $(<{JOURNAL}) == *'"armed":'* ]] || break; sleep 0.1; done; lockstep-agent status""")
        demand("armed" not in end, end)
        self.has(before, paths)
        self.machine.run("ip link set mgmt0 up")
        self.converges()

    def no_unit_has_failed(self):
        failed = self.machine.run("systemctl --failed --no-legend")
        demand(failed == "", failed)

    def may_open_devices(self):
        """GPUs' settings go through their device files, which several options of a unit close, beside what they are for. The last
        thing, because a stranger in the unit's control group confuses systemd."""
        text = self.machine.run(f"echo $$ >/sys/fs/cgroup/system.slice/{AGENT}/cgroup.procs; head -c 4 /dev/vda | wc -c")
        demand(text == "4", "device files are closed to it:", text)

    def run(self):
        for what in (self.the_sandbox_is_on, self.heals, self.comes_back, self.stops_and_starts, self.crashes,
                     self.no_unit_has_failed, self.may_open_devices):
            step(what.__name__.replace("_", " "))
            what()
        step("passed")


def main():
    out = pathlib.Path(sys.argv[1])
    step("starts the machine")
    test = Test(out, sys.argv[2], sys.argv[3])
    try:
        test.run()
    except SystemExit:
        test.machine.send(f"journalctl -u {AGENT} -o short-monotonic | tail -n 40; cat {JOURNAL}")
        answer = test.machine.receive()
        print(answer[1] if answer else "the machine does not answer", file=sys.stderr)
        raise
    finally:
        test.machine.end()


main()
