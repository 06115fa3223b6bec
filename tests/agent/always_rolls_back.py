"""Whatever keeps an agent from being reached or from starting, what is armed is rolled back in time; an address that comes later
is listened on. Seen by ip(8), by what systemd would hear, and by the agent's own words."""
import signal
import socket
import sys
import time

from lab import Lab, demand, mtu_of, run, step, until

lab = Lab(*sys.argv[1:4])
run("ip", "link", "add", "rail0", "type", "veth", "peer", "name", "rail1")


def armed_in(seconds):
    run("ip", "link", "set", "rail0", "mtu", "9000")
    lab.arm("rail0", 9000, 1500, seconds)


def rolled_back():
    until(lambda: f"rail0 has MTU {mtu_of('rail0')}: {lab.logged()}", lambda: mtu_of("rail0") == 1500)
    until("the journal is empty", lambda: not lab.is_armed())
    until(lab.logged, lambda: "transaction t1 is rolled back" in lab.logged())


def listens(text, port, **where):
    until(lambda: lab.status() + lab.logged(), lambda: f"listening on {text}" in lab.status() and "not listening" not in lab.status())
    demand(lab.hello(port, **where) == 200, "hello")
    demand(lab.logged().count(f"listening on {text}; device gpu1 of lab") == 1, lab.logged())


lab.configure("127.0.0.1:7443")
lab.start()
listens("127.0.0.1:7443", 7443)
lab.stop()
demand("lockstep-agent does not run" in lab.status(), lab.status())

step("the address is not there yet")
lab.configure("192.0.2.7:7443")
armed_in(2)
lab.start()
why = "listen on 192.0.2.7:7443: Cannot assign requested address"
until(lab.status, lambda: f"not listening: {why}" in lab.status())
until(lambda: lab.messages, lambda: lab.heard("READY=1") and lab.heard("WATCHDOG=1") and lab.heard(f"STATUS=not listening: {why}"))
rolled_back()
tries_until = time.monotonic() + 2.5  # several tries
while time.monotonic() < tries_until:
    time.sleep(0.1)
demand(lab.logged().count("not listening") == 1, "said once:", lab.logged())
run("ip", "address", "add", "192.0.2.7/32", "dev", "lo")
listens("192.0.2.7:7443", 7443, address="192.0.2.7")
until(lambda: lab.messages, lambda: lab.heard("STATUS=listening on 192.0.2.7:7443"))
lab.stop()

step("another program has the port")
other = socket.create_server(("127.0.0.1", 7443))
lab.configure("127.0.0.1:7443")
armed_in(2)
lab.start()
until(lab.status, lambda: "127.0.0.1:7443: Address already in use" in lab.status())
rolled_back()
other.close()
listens("127.0.0.1:7443", 7443)
lab.stop(signal.SIGKILL)

step("the certificate can't be used: it ends once nothing is armed, and not before")
(lab.work / "bad.crt").write_text("no certificate\n")
lab.configure("127.0.0.1:7443", certificate="bad.crt")
armed_in(4)
lab.start()
until(lab.status, lambda: "bad.crt: has no PEM certificate" in lab.status())
until(lambda: lab.messages, lambda: lab.heard("EXTEND_TIMEOUT_USEC="))
demand(mtu_of("rail0") == 9000 and lab.is_armed() and lab.process.poll() is None, "before its time:", lab.logged())
rolled_back()
demand(lab.ended() == 1 and not lab.heard("READY=1"), "an error at its start:", lab.process.returncode, lab.messages)
lab.start()
demand(lab.ended() == 1 and "bad.crt: has no PEM certificate" in lab.logged(), lab.logged())

step("the configuration can't be read: that of the last start says what to roll back")
lab.configure("127.0.0.1:7443")
lab.start()
listens("127.0.0.1:7443", 7443)
lab.stop(signal.SIGKILL)
lab.configure("", text="apiVersion: lockstep.dev/v1alpha1\nkind: AgentConfig\nspec: {cluster: lab, devise: gpu1, tls: {}}\n")
armed_in(3)
lab.start(STATE_DIRECTORY=str(lab.journal))
rolled_back()
demand(lab.ended() == 1 and "agent.yaml:3:" in lab.logged() and not lab.heard("READY=1"), lab.logged(), lab.messages)
lab.start(STATE_DIRECTORY=str(lab.work / "elsewhere"))
demand(lab.ended() == 1, "nothing to roll back by")
step("done")
