"""10,000 half-open connections, headers and bodies that trickle, and bodies that are too large, all at once: the agent's memory
stays bounded (VmHWM of its process), and a controller is served all the time."""
import pathlib
import socket
import ssl
import sys
import time

from lab import Lab, demand, step, until

HALF_OPEN = 10_000
TRICKLING = 40
# Beside what it has when it serves nobody: 256 handshakes and 64 connections of some 100 KiB, four bodies of 16 MiB (which a parser
# may hold twice while it grows), and as much again for the allocator. A sanitizer adds its quarantine of 256 MiB.
ROOM_KIB = (320 * 100 + 2 * 4 * 16 * 1024) * 2
HELLO_BEGUN = b"\x16\x03\x01\x02\x00\x01"  # a ClientHello that promises 512 bytes
PORT = 7443


def peak_kib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


lab = Lab(*sys.argv[1:4])
lab.configure(f"127.0.0.1:{PORT}")
lab.start()
until("READY=1", lambda: lab.heard("READY=1"))
until(lab.status, lambda: "\nlistening on" in lab.status())
sanitized = b"__asan_init" in pathlib.Path(lab.program).read_bytes()
room = ROOM_KIB + (256 * 1024 if sanitized else 0)


def served(when):
    demand(lab.hello(PORT) == 200, "a controller is not served", when)


served("before")
before = peak_kib(lab.process)
step("peak before:", before, "KiB")

slow = []
for number in range(TRICKLING):
    client = lab.connect(PORT, who="grafana", source="127.0.0.3")
    client.sendall([b"POST /v1/observe HTTP/1.1\r\nX: ", b"POST /v1/observe HTTP/1.1\r\nContent-Length: 16000000\r\n\r\n{"][number % 2])
    client.setblocking(False)
    slow.append(client)


def trickle():
    for client in slow:
        try:
            client.send(b" ")
        except (OSError, ssl.SSLError):
            pass  # ended, or a full buffer


large = []


def send_large():
    """Bodies as large as may be, and larger, as far as the agent takes them."""
    for length in 16 << 20, 64 << 20, 1 << 40:
        client = lab.connect(PORT, who="grafana", source="127.0.0.4")
        client.settimeout(0.2)
        try:
            client.sendall(f"POST /v1/observe HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode())
            for _ in range(64):
                client.sendall(b" " * (256 << 10))
        except (OSError, ssl.SSLError):
            pass
        large.append(client)


half_open = []
began = time.monotonic()
for number in range(HALF_OPEN):
    one = socket.socket()
    one.bind(("127.0.0.2", 0))
    one.settimeout(60)
    one.connect(("127.0.0.1", PORT))
    if number % 2:
        try:
            one.send(HELLO_BEGUN)
        except OSError:
            pass  # it is closed by now
    half_open.append(one)
    if number % 500 == 499:
        trickle()
        send_large()
        served(f"beside {number + 1} half-open connections")
step(HALF_OPEN, "half-open connections in", round(time.monotonic() - began, 1), "s")
served("at the end")
peak = peak_kib(lab.process)
descriptors = len(list(pathlib.Path(f"/proc/{lab.process.pid}/fd").iterdir()))
step("peak:", peak, "KiB;", descriptors, "descriptors")
demand(peak - before < room, "the agent took", peak - before, "KiB more, not at most", room)
demand(descriptors < 1024, descriptors, "descriptors are open in the agent")
for one in half_open + slow + large:
    one.close()
served("afterwards")
lab.stop()
