#!/usr/bin/env bash
# From a change by hand (an MTU, in one host of rail-pod's twin) to the line that `lockstep watch -o json` prints for it,
# by an outside clock that begins before `ip` writes and ends when the line is read, and by the line's own
# `microseconds` (from the kernel's event to the line): watch_latency.sh [TIMES]
. "$(dirname "$0")/twin_of_perf.sh"
copy_example rail-pod
bring_up
python3 - "$lockstep" "$specs" "$prefix-gpu1" "${1:-20}" <<'PYTHON'
import json, os, select, statistics, subprocess, sys, time
lockstep, specs, namespace, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
watch = subprocess.Popen([lockstep, "watch", "--twin", "-o", "json", specs], stdout=subprocess.PIPE)
batch = subprocess.Popen(["ip", "-n", namespace, "-batch", "-"], stdin=subprocess.PIPE)
rest = b""

def next_line(deadline):
    global rest
    while b"\n" not in rest:
        if not select.select([watch.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            return None
        rest += os.read(watch.stdout.fileno(), 65536)
    line, rest = rest.split(b"\n", 1)
    return json.loads(line)

def change(mtu, event):
    begin = time.monotonic()
    batch.stdin.write(f"link set rail0 mtu {mtu}\n".encode())
    batch.stdin.flush()
    while line := next_line(begin + 20):
        if line["event"] == event and line.get("path") == "interface[rail0]/mtu":
            return (time.monotonic() - begin) * 1e3, line["microseconds"] / 1e3
    sys.exit(f"no '{event}' within 20 s")

try:
    while not (line := next_line(time.monotonic() + 1)) is None:  # what differs when it starts
        pass
    outside, own = [], []
    for i in range(times):
        for mtu, event in ((8000 + i, "drift"), (9000, "cleared")):
            both = change(mtu, event)
            outside.append(both[0])
            own.append(both[1])
    for name, values in (("outside clock", outside), ("its own figure", own)):
        print(f"{name:15} median {statistics.median(values):7.2f} ms  largest {max(values):7.2f} ms"
              f"  over 50 ms {sum(v > 50 for v in values)}  n {len(values)}")
finally:
    batch.stdin.close()
    watch.terminate()
    watch.wait()
PYTHON
