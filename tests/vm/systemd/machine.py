"""A machine under QEMU, and a channel through which scripts run in it."""
import base64
import pathlib
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from demands import demand, step

BOOT_S = 120  # longer is a hang: an emulated machine on a busy host boots in 30 s
SCRIPT_S = 60
ENDS_WITH_TEST = ["setpriv", "--pdeathsig", "KILL"]  # however the test ends


class Machine:
    """`port`: of 127.0.0.1, which leads to port 7443 of the machine. `number`: of the boot, whose output is in
    OUT/console.NUMBER."""

    def __init__(self, out, kernel, port, number=1):
        self.channel, channel = socket.socketpair()
        # Emulation only, and the kernel's options: run.sh says why. rail0 is behind a PCI Express port, so that there is one
        # with access control services. What the machine syncs need not be on the host's disk.
        self.process = subprocess.Popen(
            [*ENDS_WITH_TEST, "qemu-system-x86_64", "-accel", "tcg", "-machine", "q35", "-cpu", "qemu64", "-smp", "1", "-m", "512",
             "-nodefaults", "-no-user-config", "-display", "none", "-serial", f"file:{out}/console.{number}",
             "-kernel", str(kernel), "-initrd", f"{out}/initrd",
             "-append", "console=ttyS0 panic=-1 oops=panic mitigations=off no_timer_check tsc=reliable cryptomgr.notests quiet "
                        "initcall_blacklist=crypto_kdf108_init net.ifnames=0 audit=0 systemd.show_status=1",
             "-drive", f"file={out}/disk,format=raw,if=virtio,cache=unsafe",
             "-netdev", f"user,id=mgmt,restrict=on,hostfwd=tcp:127.0.0.1:{port}-10.0.2.15:7443",
             "-device", "virtio-net-pci,netdev=mgmt,mac=02:00:00:00:00:01,romfile=",
             "-netdev", "user,id=rail,restrict=on", "-device", "pcie-root-port,id=rp0,chassis=1,slot=1",
             "-device", "e1000e,bus=rp0,netdev=rail,mac=02:00:00:00:00:02,romfile=",
             "-device", "virtio-serial-pci", "-chardev", f"socket,id=channel,fd={channel.fileno()}",
             "-device", "virtserialport,chardev=channel"],
            stdin=subprocess.DEVNULL, pass_fds=(channel.fileno(),))
        channel.close()
        self.send("cat /proc/sys/kernel/random/boot_id")
        booted = self.receive(BOOT_S)
        demand(booted, "not booted within", BOOT_S, "s")
        self.boot_id = booted[1]

    def send(self, script):
        self.channel.sendall(base64.b64encode(script.encode()) + b"\n")

    def receive(self, seconds=SCRIPT_S):
        """(exit code, output) of the script that was sent, or None if there is none in time."""
        self.channel.settimeout(seconds)
        line = b""
        while not line.endswith(b"\n"):
            try:
                more = self.channel.recv(65536)
            except TimeoutError:
                return None
            demand(more, "the machine has ended")
            line += more
        code, text = line.split(b" ", 1)
        return int(code), base64.b64decode(text).decode(errors="replace").rstrip("\n")

    def answer(self, script):
        """(exit code, output)"""
        self.send(script)
        answer = self.receive()
        demand(answer, "no answer within", SCRIPT_S, "s to:", script)
        return answer

    def run(self, script):
        code, text = self.answer(script)
        demand(code == 0, script, "ended with", code, text)
        return text

    def end(self):
        """As without power: nothing is stopped, and nothing is synced."""
        self.process.kill()
        self.process.wait()
