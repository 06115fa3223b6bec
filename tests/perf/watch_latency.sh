#!/usr/bin/env bash
# From a manual change (the MTU of a rail of rail-pod's twin) to the line that `lockstep watch -o json` prints
# for it, by an outside clock that starts before `ip` writes and stops when the line is read, and by the
# line's own `microseconds` (from the kernel's event to the line): watch_latency.sh [TIMES]
# A leaf switch that changes four times in 10 s is reported as flapping, once (reconciler/engine/watch.hpp),
# so each of the eight rails is broken and restored once, and then the next round waits.
. "$(dirname "$0")/twin_of_perf.sh"
copy_example rail-pod
bring_up
python3 - "$lockstep" "$specs" "$prefix" "${1:-20}" <<'PYTHON'
import json, os, select, statistics, subprocess, sys, time
lockstep, specs, prefix, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
watch = subprocess.Popen([lockstep, "watch", "--twin", "-o", "json", specs], stdout=subprocess.PIPE)
hosts = ["gpu1", "gpu2", "gpu3", "gpu4"]
batch = {host: subprocess.Popen(["ip", "-n", f"{prefix}-{host}", "-batch", "-"], stdin=subprocess.PIPE) for host in hosts}
rest = b""

def next_line(deadline):
    global rest
    while b"\n" not in rest:
        if not select.select([watch.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            return None
        rest += os.read(watch.stdout.fileno(), 65536)
    line, rest = rest.split(b"\n", 1)
    return json.loads(line)

def change(host, rail, mtu, event):
    begin = time.monotonic()
    batch[host].stdin.write(f"link set {rail} mtu {mtu}\n".encode())
    batch[host].stdin.flush()
    while line := next_line(begin + 20):
        if line["event"] == event and line["device"] == host and line.get("path") == f"interface[{rail}]/mtu":
            return (time.monotonic() - begin) * 1e3, line["microseconds"] / 1e3
    raise SystemExit(f"{host} {rail}: no '{event}' within 20 s")

try:
    while not (line := next_line(time.monotonic() + 1)) is None:  # what differs when it starts
        pass
    outside, own = [], []
    rails = [(host, rail) for host in hosts for rail in ("rail0", "rail1")]
    while len(outside) < times:
        if outside:
            time.sleep(11)  # the window of flapping
        for host, rail in rails[:(times - len(outside) + 1) // 2]:
            for mtu, event in ((8000, "drift"), (9000, "cleared")):
                both = change(host, rail, mtu, event)
                outside.append(both[0])
                own.append(both[1])
    for name, values in (("outside clock", outside), ("its own figure", own)):
        print(f"{name:15} median {statistics.median(values):7.2f} ms  largest {max(values):7.2f} ms"
              f"  over 50 ms {sum(v > 50 for v in values)}  n {len(values)}")
finally:
    for one in batch.values():
        one.stdin.close()
    watch.terminate()
    watch.wait()
PYTHON
