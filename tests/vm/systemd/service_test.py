"""`lockstep serve` under a real systemd, in its units' sandbox, over an agent: it is started by a connection, has its secrets as
credentials, does what the specs say and tells the journal with fields, looks again when it is reloaded, comes back when it is killed
or hangs while clients wait, and stops in order. The oracles are the machine's own tools. Usage: service_test.py OUT LOCKSTEP KERNEL,
as machine.sh calls it."""
import json
import pathlib
import re
import sys

from machine import Machine, demand, step

PORT = 7443
UNIT = "lockstep.service"
SOCKET = "/run/lockstep/service/api.sock"
SOON_S = 50  # longer is a hang: the machine is emulated, and a script must end within SCRIPT_S
DYNAMIC_USERS = range(61184, 65520)  # systemd's documentation, "Users, Groups, UIDs and GIDs"
TOKEN = "a-token-of-the-test"
VALUE = "/proc/sys/net/ipv4/tcp_fin_timeout"


class Test:
    def __init__(self, out, kernel):
        self.machine = Machine(out, kernel, PORT)
        self.run = self.machine.run
        self.pid = self.user = ""

    def shows(self, name, unit=UNIT):
        return self.run(f"systemctl show -P {name} {unit}")

    def waits(self, condition, otherwise):
        """Until a condition of the shell holds in the machine."""
        code, text = self.machine.answer(f"for ((end = SECONDS + {SOON_S}; SECONDS < end; )); do {condition} && exit; sleep 0.2; done; exit 1")
        if code != 0:
            demand(False, otherwise, text, self.run(f"systemctl status --no-pager -n 20 lockstep.socket {UNIT} || true"))

    def asks(self, path, options=""):
        """The API, over its UNIX socket."""
        return self.run(f"curl -sS --fail-with-body --max-time {SOON_S} --unix-socket {SOCKET} {options} http://localhost{path}")

    def entries(self, *fields):
        """The journal's entries of the service with these fields, oldest first."""
        text = self.run(f"journalctl -u {UNIT} -o json --no-pager {' '.join(fields)}")
        return [json.loads(line) for line in text.splitlines()]

    def tells(self, *fields, count=1):
        self.waits(f"[ $(journalctl -u {UNIT} -o cat --no-pager {' '.join(fields)} | wc -l) -ge {count} ]", f"no entry with {fields}:")
        return self.entries(*fields)[-1]

    def restarted(self, times):
        """Waits for another process, that serves."""
        self.waits(f"[ $(systemctl show -P NRestarts {UNIT}) = {times} ] && systemctl is-active -q {UNIT}", "does not come back:")
        before, self.pid = self.pid, self.shows("MainPID")
        demand(self.pid not in (before, "0"), "the same process:", self.pid)

    # What is tested
    def does_not_start_with_a_wrong_config(self):
        """And is not active before it says that it is ready."""
        code, text = self.machine.answer("""sed -i 's/folder:/folderr:/' /etc/lockstep/serve.yaml
            systemctl start lockstep""")
        demand(code != 0, "it has started:", text)
        demand(self.shows("ActiveEnterTimestampMonotonic") == "0", "it was active")
        demand("LS1002" in self.run(f"journalctl -u {UNIT} -o cat"), "the journal does not say why")
        self.run("""sed -i 's/folderr:/folder:/' /etc/lockstep/serve.yaml
            systemctl stop lockstep.socket; systemctl reset-failed""")

    def starts_with_a_connection(self):
        self.run("systemctl enable lockstep")
        for unit in (UNIT, "lockstep.socket"):
            demand(self.machine.answer(f"systemctl is-enabled {unit}") == (0, "enabled"), unit, "is not enabled")
        self.run("systemctl start lockstep.socket")
        demand(self.shows("ActiveState") == "inactive", "it runs already")
        demand(self.run(f"stat -c '%U:%G %a' {SOCKET}") == "root:root 600", "the socket is another's")
        answer = json.loads(self.asks("/api/v1alpha1/clusters"))
        demand(answer["kind"] == "ClusterList", answer)
        self.waits(f"systemctl is-active -q {UNIT}", "is not active:")
        demand(self.shows("Type") == "notify" and self.shows("NRestarts") == "0", "was restarted")
        self.pid = self.shows("MainPID")
        inherited = self.run(f"ls -l /proc/{self.pid}/fd/3; tr '\\0' '\\n' </proc/{self.pid}/environ | grep -a LISTEN_FDNAMES")
        demand("socket:" in inherited and "LISTEN_FDNAMES=api" in inherited, inherited)

    def has_no_power(self):
        status = dict(line.split(":\t", 1) for line in self.run(f"cat /proc/{self.pid}/status").splitlines() if ":\t" in line)
        self.user = int(status["Uid"].split()[0])
        demand(self.user in DYNAMIC_USERS, "it runs as user", self.user)
        for which in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            demand(int(status[which], 16) == 0, which, "is", status[which])
        demand(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status)
        code, text = self.machine.answer(f"systemd-analyze security --no-pager --threshold=15 {UNIT}")
        demand(code == 0, text)
        print("   ", text.splitlines()[-1], flush=True)
        limits = self.run(f"grep 'Max open files' /proc/{self.pid}/limits").split()
        demand(limits[3] == limits[4] and int(limits[4]) > 1024, "it may open", limits)

    def has_its_secrets_as_credentials(self):
        folder = f"/run/credentials/{UNIT}"
        for name in ("api.key", "controller.key"):
            shown = self.run(f"nsenter -m -t {self.pid} stat -c '%u:%a' {folder}/{name}")
            print(f"    {name} is {shown}", flush=True)  # which form depends on the file system that systemd finds
            demand(shown in (f"{self.user}:400", "0:440"), name, "is", shown)
        code, text = self.machine.answer(f"setpriv --reuid=$(stat -c %u /proc/{self.pid}) --clear-groups cat /etc/lockstep/api.key")
        demand(code != 0 and "denied" in text, "it can read root's file:", text)
        ask = "curl -sS --max-time 50 -o /dev/null -w '%{http_code}' --cacert /etc/lockstep/ca.crt"
        url = "https://127.0.0.1:7445/api/v1alpha1/devices"
        demand(self.run(f"{ask} -H 'Authorization: Bearer {TOKEN}' {url}") == "200", "does not know the token")
        demand(self.run(f"{ask} -H 'Authorization: Bearer {TOKEN}x' {url}") == "401", "knows any token")

    def has_the_value(self, value):
        self.waits(f"[ $(<{VALUE}) = {value} ]", f"the value is not {value}:")

    def does_what_the_specs_say(self):
        self.has_the_value(30)
        entry = self.tells("LOCKSTEP_EVENT=ChangeKept")
        wanted = {"LOCKSTEP_DEVICE": "gpu1", "LOCKSTEP_CLUSTER": "lab", "LOCKSTEP_CHANGE": "1", "PRIORITY": "6",
                  "SYSLOG_IDENTIFIER": "lockstep", "_SYSTEMD_UNIT": UNIT, "_PID": self.pid}
        demand(wanted.items() <= entry.items(), "is not in the entry:", wanted, entry)
        demand(re.fullmatch(r"ChangeKept Revision/\w{12}: .+", entry["MESSAGE"]), entry["MESSAGE"])
        demand(entry["LOCKSTEP_REVISION"].startswith(entry["MESSAGE"].split("/")[1][:12]) or
               entry["LOCKSTEP_REVISION"].startswith("sha256:"), entry)
        self.run("journalctl --update-catalog")
        explained = self.run(f"journalctl -u {UNIT} -x --no-pager MESSAGE_ID={entry['MESSAGE_ID']}")
        demand("Subject: A change was kept" in explained, explained)
        self.waits(f"[[ $(systemctl show -P StatusText {UNIT}) == 'at '* ]]", "its status is another:")

    def keeps_what_only_it_may_read(self):
        shown = self.run("shopt -s globstar dotglob; stat -c '%n %u %a' /var/lib/private/lockstep/**/*")
        kept = {name: (int(user), int(mode, 8)) for name, user, mode in (line.split() for line in shown.splitlines())}
        for file in ("kept.cbor", "audit.jsonl"):
            demand(any(name.endswith("/" + file) for name in kept), "there is no", file, kept)
        demand(all(user == self.user and mode & 0o077 == 0 for user, mode in kept.values()), "others may use", kept)

    def heals(self):
        # The kernel tells nobody of a parameter that changes: who reloads has it looked at.
        self.run(f"echo 61 >{VALUE}; systemctl reload lockstep")
        self.has_the_value(30)
        self.tells("LOCKSTEP_EVENT=ChangeKept", "LOCKSTEP_DEVICE=gpu1", count=2)

    def plans_specs_of_others(self):
        """By a process of its own, in the same sandbox."""
        self.run("""cp -r /srv/specs /tmp/proposed
            sed -i 's/tcp_fin_timeout: 30/tcp_fin_timeout: 44/' /tmp/proposed/service_specs.yaml""")
        code, text = self.machine.answer(f"lockstep plan --server unix:{SOCKET} /tmp/proposed")
        demand(code == 2 and "44" in text and "gpu1" in text, "the plan ends with", code, text)
        self.has_the_value(30)
        demand(self.shows("OOMPolicy") == "continue", "where the kernel ends such a process for its memory, the service ends with it")

    def looks_again_when_reloaded(self):
        valid = len(self.entries("LOCKSTEP_EVENT=RevisionValid"))
        self.run("""sed -i 's/tcp_fin_timeout: 30/tcp_fin_timeout: 35/' /srv/specs/service_specs.yaml
            systemctl reload lockstep""")
        self.tells("LOCKSTEP_EVENT=RevisionValid", count=valid + 1)
        self.has_the_value(35)
        demand(self.shows("MainPID") == self.pid, "it is another process")

    def comes_back_when_killed(self):
        self.run(f"kill -9 {self.pid}")
        # RestartSec= later: a client that comes meanwhile waits.
        self.waits(f"[ $(systemctl show -P SubState {UNIT}) = auto-restart ]", "is not to be restarted:")
        demand(json.loads(self.asks("/api/v1alpha1/clusters"))["kind"] == "ClusterList", "no answer")
        self.restarted(1)
        self.goes_on(leads=2, value=62)

    def goes_on(self, leads, value):
        """It leads again, and heals."""
        self.tells("LOCKSTEP_EVENT=Leads", count=leads)
        self.run(f"echo {value} >{VALUE}; systemctl reload lockstep")
        self.has_the_value(35)

    def is_killed_when_it_hangs(self):
        self.run(f"kill -STOP {self.pid}")
        self.waits(f"journalctl -u {UNIT} -o cat --no-pager | grep -q 'Watchdog timeout'", "systemd does not notice:")
        self.restarted(2)
        self.goes_on(leads=3, value=63)

    def is_backed_up_and_restored(self):
        """By root, as the user of the service: docs/operations.md."""
        as_service = ("systemd-run --quiet --wait --pipe -p DynamicUser=yes -p User=lockstep -p StateDirectory=lockstep "
                      "-E LOCKSTEP_STATE_DIR=/var/lib/lockstep lockstep state")
        code, text = self.machine.answer("LOCKSTEP_STATE_DIR=/var/lib/lockstep lockstep state restore /etc/passwd /srv/specs")
        demand(code == 1 and "another user" in text, "root's own program is let at it:", code, text)
        self.run(f"{as_service} backup /var/lib/lockstep/backup.sqlite /srv/specs")
        self.run(f"systemctl stop {UNIT}; {as_service} restore /var/lib/lockstep/backup.sqlite /srv/specs; systemctl start {UNIT}")
        self.pid = self.shows("MainPID")
        self.goes_on(leads=4, value=64)

    def stops(self):
        self.run("systemctl stop lockstep.socket")
        self.waits(f"[ $(systemctl show -P ActiveState {UNIT}) = inactive ]", "does not stop:")
        demand(self.shows("Result") == "success" and self.shows("ExecMainStatus") == "0", self.run(f"systemctl status {UNIT} || true"))
        left = self.run(f"ls -d {SOCKET} /run/lockstep-serve /run/credentials/{UNIT} 2>/dev/null || true")
        demand(left == "", "is left:", left)
        demand(self.run("ls /var/lib/private/lockstep"), "its state is gone")
        failed = self.run("systemctl --failed --no-legend")
        demand(failed == "", failed)

    def all(self):
        for what in (self.does_not_start_with_a_wrong_config, self.starts_with_a_connection, self.has_no_power,
                     self.has_its_secrets_as_credentials, self.does_what_the_specs_say, self.keeps_what_only_it_may_read,
                     self.heals, self.plans_specs_of_others,
                     self.looks_again_when_reloaded, self.comes_back_when_killed, self.is_killed_when_it_hangs,
                     self.is_backed_up_and_restored, self.stops):
            step(what.__name__.replace("_", " "))
            what()
        step("passed")


def main():
    step("starts the machine")
    test = Test(pathlib.Path(sys.argv[1]), sys.argv[3])
    try:
        test.all()
    except SystemExit:
        test.machine.send(f"systemctl status --no-pager {UNIT} lockstep.socket; journalctl -u {UNIT} -u lockstep-agent | tail -n 60")
        answer = test.machine.receive()
        print(answer[1] if answer else "the machine does not answer", file=sys.stderr)
        raise
    finally:
        test.machine.end()


main()
