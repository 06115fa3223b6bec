"""Whoever has a controller's certificate can't make an agent do what its host policy refuses: not by an apply, nor by the undo that
comes with one, nor by a remedy, nor by a rollback after root has made the policy stricter. The oracle is /proc/sys."""
import http.client
import json
import pathlib
import sys

from lab import Lab, demand, step, until

POLICY = pathlib.Path("/etc/lockstep/host.yaml")  # of run.sh's own /etc
ALLOWED, REFUSED = "net.ipv4.tcp_mtu_probing", "kernel.printk_ratelimit_burst"  # by the default; harmless
PORT = 7443

lab = Lab(*sys.argv[1:4])


def value(name):
    return pathlib.Path("/proc/sys", *name.split(".")).read_text().strip()


def call(name, body):
    connection = http.client.HTTPConnection("127.0.0.1")
    connection.sock = lab.connect(PORT)
    connection.request("POST", "/v1/" + name, json.dumps(body))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def change(name, want, was):
    return {"path": f"sysctl[{name}]", "want": want, "was": was}


def apply(transaction, changes, undo):
    return call("apply", {"driver": "linux", "changes": changes, "guard": {
        "epoch": 1, "ticket": transaction + "-1", "transaction": transaction, "revision": "", "undo": undo, "undoAfterMs": 60000}})


def undo(transaction):
    return call("settle", {"epoch": 1, "transaction": transaction, "settlement": "undo"})


def refused(answer, what):
    status, text = answer
    demand(status >= 400 and "policy" in text, what, status, text)


def start():
    lab.configure(f"127.0.0.1:{PORT}")
    lab.start()
    until(lab.logged, lambda: lab.heard("STATUS=listening"))


burst, probing = value(REFUSED), value(ALLOWED)
other, new = str(int(burst) + 1), "1" if probing != "1" else "2"
start()

step("an apply of what the policy refuses")
refused(apply("t1", [change(REFUSED, other, burst)], [change(REFUSED, burst, other)]), "an apply of what the policy refuses:")
demand(value(REFUSED) == burst, "an apply set what the policy refuses")
undo("t1")

step("an apply with one refused change: nothing of it is written")
refused(apply("t2", [change(ALLOWED, new, probing), change(REFUSED, other, burst)], []), "an apply with one refused change:")
demand(value(ALLOWED) == probing and value(REFUSED) == burst, "an apply with one refused change wrote something")
undo("t2")

step("remedies")
for path, want, was in (f"sysctl[{REFUSED}]", other, burst), ("service[ssh.service]", "disabled", "running"):
    effects = [{"path": path, "want": want, "was": was}]
    refused(call("remedy", {"driver": "linux", "epoch": 1, "effects": effects}), f"a remedy of {path}:")
demand(value(REFUSED) == burst, "a remedy set what the policy refuses")

step("a rollback of what was allowed when it was armed, and is refused now")
status, text = apply("t3", [change(ALLOWED, new, probing)], [change(ALLOWED, probing, new)])
demand(status == 200 and value(ALLOWED) == new, "what the policy allows is not done:", status, text)
POLICY.parent.mkdir(mode=0o755)
POLICY.write_text(f"apiVersion: lockstep.dev/v1alpha1\nkind: HostPolicy\nspec:\n  sysctls: {{refuse: [{ALLOWED}]}}\n")
POLICY.chmod(0o644)
refused(undo("t3"), "a rollback that the policy refuses now:")
demand(value(ALLOWED) == new, "a rollback wrote what the policy refuses now")
POLICY.unlink()

step("an apply whose undo does more than undo: none of the apply is done, and of the undo only what the policy allows")
lab.stop()
(lab.journal / "journal.json").unlink()
start()
probing = value(ALLOWED)
new = "1" if probing != "1" else "2"
refused(apply("t4", [change(ALLOWED, new, probing)], [change(ALLOWED, probing, new), change(REFUSED, other, burst)]),
        "an apply whose undo the policy refuses:")
demand(value(ALLOWED) == probing, "an apply whose undo the policy refuses was done")
undo("t4")
demand(value(REFUSED) == burst, "the undo of an apply set what the policy refuses")
lab.stop()
step("the host policy holds against whoever has a controller's key")
