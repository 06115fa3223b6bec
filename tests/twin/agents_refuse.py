"""What an agent refuses: agents_refuse.sh makes the twin and states the purpose.
Usage: agents_refuse.py LOCKSTEP POD RUN_FOLDER, with LOCKSTEP_STATE_DIR set."""
import contextlib
import os
import pathlib
import shutil
import sqlite3
import sys
import time

from agent_pod import DEVICES, HOSTS, Pod, demand, differing, run, step, until


class Refusals:
    def __init__(self, pod):
        self.pod, self.mtu = pod, 9000
        self.pki = pod.supervisor / "pki"

    def new_mtu(self):
        self.mtu -= 40
        self.pod.say(mtu=self.mtu)

    @contextlib.contextmanager
    def unchanged(self, devices):
        """Nothing of them is written meanwhile."""
        before = {one: self.pod.state(one) for one in devices}
        yield
        for one in devices:
            changed = differing(before[one], self.pod.state(one))
            demand(not changed, one, "was changed:", changed)
            demand(not self.pod.journal(one).get("armed"), one, "has an armed transaction")

    def refused(self, *words, codes=(1,)):
        """An apply that must fail, and say so."""
        code, text = self.pod.apply()
        demand(code in codes, "apply ended with", code, "not", codes, text)
        for word in words:
            demand(word in text, "nobody said", repr(word), "in", text)
        said = next((line for line in text.splitlines() if words and words[0] in line), text)
        print("    " + said.strip()[:240], flush=True)

    def converges(self):
        self.pod.converges()
        for one in HOSTS:
            demand(self.pod.mtu(one) == self.mtu, one, "has MTU", self.pod.mtu(one), "not", self.mtu)

    def hold(self):
        step("hold: gpu2 is not written to, with the reason; release lifts it")
        code, text = self.pod.agent("gpu2", "hold", "maintenance of rack 7")
        demand(code == 0, "hold:", text)
        demand(self.pod.agent("gpu2", "status")[0] == 1, "status of a held machine ended well")
        self.new_mtu()
        with self.unchanged(["gpu2"]):
            self.refused("maintenance of rack 7")
            demand(self.pod.restart_agent("gpu2").get("started"), "gpu2 does not start again")
            self.refused("maintenance of rack 7")  # a hold outlives its agent
        code, text = self.pod.agent("gpu2", "release")
        demand(code == 0, "release:", text)
        self.converges()

    def hold_in_mid_change(self):
        step("hold in mid-change: what is armed is settled or rolled back, and nothing else begins")
        was = self.pod.mtu("gpu1")

        def says(_):
            nonlocal was
            was = self.pod.mtu("gpu1")
            self.new_mtu()
        controller = self.pod.armed_controller(says)
        demand(self.pod.agent("gpu1", "hold", "just now")[0] == 0, "hold")
        controller.go_on()
        code, text = controller.ended()
        until(45, "gpu1 has nothing armed", lambda: "gpu1" not in self.pod.armed(), 0.2)
        demand(code in (0, 1), "the apply ended with", code, text)
        demand(self.pod.mtu("gpu1") in (was, self.mtu), "gpu1 has MTU", self.pod.mtu("gpu1"), "not", was, "or", self.mtu)
        demand(self.pod.mtu("gpu1", "rail0") == self.pod.mtu("gpu1", "rail1"), "gpu1 has one rail changed")
        print(f"    the apply ended with {code}; gpu1 has MTU {self.pod.mtu('gpu1')}: was {was}, wanted {self.mtu}", flush=True)
        demand(self.pod.agent("gpu1", "release")[0] == 0, "release")
        self.converges()

    def old_controller(self):
        step("an older controller that was stopped past a newer one's apply, and goes on")
        state = pathlib.Path(os.environ["LOCKSTEP_STATE_DIR"])
        newer = state.parent / "newer"
        shutil.copytree(state, newer)

        def says(_):
            self.new_mtu()
        old = self.pod.armed_controller(says)
        epoch = self.pod.journal("gpu1")["epoch"]
        # The same store: only one may write to it.
        code, text = self.pod.apply()
        demand(code != 0 and str(old.process.pid) in text, "a second controller with the same state:", code, text)
        print("    " + text.strip().splitlines()[-1][:240], flush=True)
        # Another machine took over with the store as it was; as the store's leader its epoch is higher.
        [journal] = newer.rglob("journal.sqlite")
        with contextlib.closing(sqlite3.connect(journal)) as store:
            store.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'epochs'", (epoch + 1,))
            store.commit()
        environment = {"LOCKSTEP_STATE_DIR": str(newer), "LOCKSTEP_RUN_DIR": str(newer / "run")}
        self.new_mtu()
        began = time.monotonic()
        code, text = self.pod.apply(environment)
        print(f"    the newer controller's apply took {time.monotonic() - began:.1f} s", flush=True)
        demand(code == 0, "the newer controller's apply ended with", code, text)
        for one in HOSTS:
            demand(self.pod.mtu(one) == self.mtu, one, "has MTU", self.pod.mtu(one), "not the newer controller's", self.mtu)
        demand(self.pod.journal("gpu1")["epoch"] > epoch, "the epoch did not rise")
        began = time.monotonic()
        with self.unchanged(DEVICES):
            old.go_on()
            code, text = old.ended()
        print(f"    the older controller gave up after {time.monotonic() - began:.0f} s", flush=True)
        demand(code == 1, "the older controller ended with", code, text)
        demand("has taken over gpu1" in text, "the older controller does not say why:", text)
        said = next(line for line in text.splitlines() if "has taken over" in line)
        print("    " + said.strip()[:240], flush=True)
        code, text = self.pod.command("drift", "--twin", environment=environment)
        demand(code == 0, "drift after the older controller ended with", code, text)
        self.old_store(newer, environment)

    def old_store(self, newer, environment):
        """The old store's epoch is behind, as a restored backup's is: its next leader goes above."""
        self.new_mtu()
        code, text = self.pod.apply()
        demand(code == 0, "a store whose epoch is behind locks itself out:", code, text)
        self.converges()

    @contextlib.contextmanager
    def replaced(self, folder, name, made):
        """Meanwhile folder/name.{crt,key} are those of `made`."""
        kept = self.pod.work / "kept"
        kept.mkdir()
        for suffix in ("crt", "key"):
            os.rename(folder / f"{name}.{suffix}", kept / f"{name}.{suffix}")
            shutil.copy(f"{made}.{suffix}", folder / f"{name}.{suffix}")
        yield
        for suffix in ("crt", "key"):
            os.replace(kept / f"{name}.{suffix}", folder / f"{name}.{suffix}")
        kept.rmdir()

    def issue(self, authority, role, name, out, *words):
        run(self.pod.lockstep, "ca", "issue", str(authority), "--role", role, "--name", name, "--out", str(out), *words)
        return str(out / name)

    def controllers(self):
        work = self.pod.work
        cluster = "rail-pod"
        run(self.pod.lockstep, "ca", "init", str(work / "other-ca"), "--cluster", cluster)
        kinds = {
            "another authority's": self.issue(work / "other-ca", "controller", "lockstep", work / "other"),
            "a reader's": self.issue(self.pki, "reader", "reader", work / "reader"),
            "a device's": self.issue(self.pki, "device", "gpu9", work / "device"),
            "an expired": self.expired("controller", "lockstep", work / "expired"),
        }
        says = {"another authority's": "unknown CA", "a reader's": "reader", "a device's": "unsupported certificate",
                "an expired": "expired"}
        for kind, made in kinds.items():
            step("the controller has", kind, "certificate")
            self.new_mtu()
            with self.unchanged(DEVICES), self.replaced(self.pki, "lockstep", made):
                self.refused(says[kind], codes=(1,) if kind == "a reader's" else (3,))
                code, text = self.pod.drift()
                demand(code == (2 if kind == "a reader's" else 3), "drift with", kind, "certificate ended with", code, text)
        self.converges()

    def revoked(self):
        step("the controller has a revoked certificate")
        made = self.issue(self.pki, "controller", "former", self.pod.work / "former")
        shutil.copy(self.pki / "ca.crl", self.pod.work / "ca.crl")
        with self.replaced(self.pki, "lockstep", made):
            self.new_mtu()
            self.converges()
            run(self.pod.lockstep, "ca", "revoke", str(self.pki), made + ".crt")
            self.new_mtu()
            with self.unchanged(DEVICES):
                self.refused("revoked", codes=(3,))
        self.converges()
        os.replace(self.pod.work / "ca.crl", self.pki / "ca.crl")

    def devices(self):
        work = self.pod.work
        address = ("--ip", self.pod.address("gpu3"))
        kinds = {
            "another authority's": self.issue(work / "other-ca", "device", "gpu3", work / "other-gpu3", *address),
            "gpu4's": self.issue(self.pki, "device", "gpu4", work / "gpu4-for-gpu3", *address),
            "a controller's": self.issue(self.pki, "controller", "gpu3", work / "controller-gpu3", *address),
            "an expired": self.expired("device", "gpu3", work / "expired-gpu3", self.pod.address("gpu3")),
        }
        for kind, made in kinds.items():
            step("the agent of gpu3 has", kind, "certificate")
            self.new_mtu()
            with self.unchanged(["gpu3"]), self.replaced(self.pod.agent_folder("gpu3"), "gpu3", made):
                self.refused("gpu3", codes=(1, 3))
        self.converges()

    def expired(self, role, name, out, address=None):
        """From the twin's authority, of the year 2020."""
        out.mkdir()
        made = str(out / name)
        hosts = f",IP:{address},DNS:{name}" if address else ""
        use = "serverAuth" if role == "device" else "clientAuth"
        (out / "ca.cnf").write_text(f"""[ca]
default_ca = own
[own]
database = {out}/index
new_certs_dir = {out}
rand_serial = yes
default_md = sha256
policy = any
[any]
commonName = supplied
[made]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = {use}
subjectAltName = URI:lockstep://rail-pod/{role}/{name}{hosts}
""")
        (out / "index").touch()
        run("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
            "-keyout", made + ".key", "-out", made + ".csr")
        run("openssl", "ca", "-batch", "-notext", "-config", str(out / "ca.cnf"), "-extensions", "made",
            "-cert", str(self.pki / "ca.crt"), "-keyfile", str(self.pki / "ca.key"), "-in", made + ".csr",
            "-out", made + ".crt", "-startdate", "20200101000000Z", "-enddate", "20200201000000Z")
        return made


def main():
    pod = Pod(*sys.argv[1:4])
    pod.one_wave()
    pod.converges()
    all_of_it = Refusals(pod)
    all_of_it.hold()
    all_of_it.hold_in_mid_change()
    all_of_it.old_controller()
    all_of_it.controllers()
    all_of_it.revoked()
    all_of_it.devices()


main()
