#!/usr/bin/env python3
"""agent_policy.py AGENT FOLDER: the client of agent_policy.sh, which speaks the agents' protocol as a thief of a key would."""
import http.client
import json
import pathlib
import shutil
import ssl
import subprocess
import sys
import time

AGENT, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
POLICY = pathlib.Path("/etc/lockstep/host.yaml")
HEAD = "apiVersion: lockstep.dev/v1alpha1\nkind: HostPolicy\nspec:\n"
ALLOWED, REFUSED = "net.ipv4.tcp_mtu_probing", "kernel.printk_ratelimit_burst"
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAILED:", what, file=sys.stderr)


def value(name):
    return pathlib.Path("/proc/sys", *name.split(".")).read_text().strip()


def call(name, body):
    tls = ssl.create_default_context(cafile=str(WORK / "ca/ca.crt"))
    tls.load_cert_chain(WORK / "thief/thief.crt", WORK / "thief/thief.key")
    connection = http.client.HTTPSConnection("127.0.0.1", 7443, timeout=30, context=tls)
    connection.request("POST", "/v1/" + name, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def change(name, want, was):
    return {"path": f"sysctl[{name}]", "want": want, "was": was}


def apply(transaction, changes, undo):
    return call("apply", {"driver": "linux", "changes": changes, "guard": {
        "epoch": 1, "ticket": transaction + "-1", "transaction": transaction, "revision": "", "undo": undo, "undoAfterMs": 60000}})


def settle(transaction, how):
    return call("settle", {"epoch": 1, "transaction": transaction, "settlement": how})


def write_policy(text):
    POLICY.write_text(HEAD + text)
    POLICY.chmod(0o644)


def refuses_what_the_policy_refuses():
    burst, probing = value(REFUSED), value(ALLOWED)
    other, new = str(int(burst) + 1), "1" if probing != "1" else "2"

    status, text = apply("t1", [change(REFUSED, other, burst)], [change(REFUSED, burst, other)])
    check(status >= 400 and "policy" in text, f"the apply of what the policy refuses: {status} {text}")
    check(value(REFUSED) == burst, "an apply set what the policy refuses")
    settle("t1", "undo")

    # Of a step with one refused change nothing is written.
    status, text = apply("t2", [change(ALLOWED, new, probing), change(REFUSED, other, burst)], [])
    check(status >= 400 and "policy" in text, f"an apply with one refused change: {status} {text}")
    check(value(ALLOWED) == probing and value(REFUSED) == burst, "an apply with one refused change wrote something")
    settle("t2", "undo")

    for path, want, was in ((f"sysctl[{REFUSED}]", other, burst), ("service[ssh.service]", "disabled", "running")):
        status, text = call("remedy", {"driver": "linux", "epoch": 1, "effects": [{"path": path, "want": want, "was": was}]})
        check(status >= 400 and "policy" in text, f"a remedy of {path}: {status} {text}")
    check(value(REFUSED) == burst, "a remedy set what the policy refuses")

    # What was allowed when it was armed and is refused now is not written by the rollback either, and that is said.
    status, text = apply("t3", [change(ALLOWED, new, probing)], [change(ALLOWED, probing, new)])
    check(status == 200 and value(ALLOWED) == new, f"what the policy allows is not done: {status} {text}")
    write_policy(f"  sysctls: {{refuse: [{ALLOWED}]}}\n")
    status, text = settle("t3", "undo")
    check(status >= 400 and "policy" in text, f"a rollback that the policy refuses now: {status} {text}")
    check(value(ALLOWED) == new, "a rollback wrote what the policy refuses now")
    POLICY.unlink()


# The undo of an apply does more than undo: none of the apply is done, and of the undo only what the policy allows.
def refuses_an_undo_that_the_policy_refuses():
    burst, probing = value(REFUSED), value(ALLOWED)
    other, new = str(int(burst) + 1), "1" if probing != "1" else "2"
    status, text = apply("t4", [change(ALLOWED, new, probing)], [change(ALLOWED, probing, new), change(REFUSED, other, burst)])
    check(status >= 400 and "policy" in text, f"an apply whose undo the policy refuses: {status} {text}")
    check(value(ALLOWED) == probing, "an apply whose undo the policy refuses was done")
    settle("t4", "undo")
    check(value(REFUSED) == burst, "the undo of an apply set what the policy refuses")


def with_agent(run):
    for left in (WORK / "ready", WORK / "journal"):
        shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    with subprocess.Popen([AGENT, "--config", WORK / "agent.yaml", "run", "--ready", WORK / "ready"]) as agent:
        try:
            until = time.monotonic() + 60
            while not (WORK / "ready").exists() and agent.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
            run()
        finally:
            agent.terminate()


with_agent(refuses_what_the_policy_refuses)
with_agent(refuses_an_undo_that_the_policy_refuses)
sys.exit(1 if failures else 0)
