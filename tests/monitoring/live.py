"""A service under Prometheus and Alertmanager: live.sh makes the twin and states the purpose.
Usage: live.py LOCKSTEP POD FOLDER CACHE
"""
import atexit
import hashlib
import http.client
import http.server
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

lockstep, pod, work, cache = sys.argv[1], *(pathlib.Path(word).resolve() for word in sys.argv[2:])
here = pathlib.Path(__file__).resolve().parent
SLACK_S = 120  # of what takes seconds on a machine that is not busy
TOKEN = "a-viewer-of-some-length"
DEVICE = "gpu1"
# Of the dashboard: what may have no answer while all is well.
MAY_BE_EMPTY = ("lockstep_device_drifted", "lockstep_device_reachable", "lockstep_suite_slo_broken")


def demand(good, *words):
    if not good:
        sys.exit("FAILED: " + " ".join(str(word) for word in words))


def soon(what, find):
    """What find() returns, once it is true."""
    end = time.monotonic() + SLACK_S
    while time.monotonic() < end:
        if found := find():
            return found
        time.sleep(0.1)
    demand(False, "within", SLACK_S, "s not:", what, tails())


def tails():
    return "\n".join(f"{file.name}: {file.read_text(errors='replace')[-1500:]}" for file in sorted(work.glob("*.log")))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def begin(name, *command):
    with open(work / f"{name}.log", "wb") as log:
        process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, cwd=work)
    atexit.register(process.kill)  # does nothing once it has ended
    return process


def read(url):
    """The JSON there; None: nobody answers yet."""
    try:
        with urllib.request.urlopen(url, timeout=SLACK_S) as answer:
            return json.load(answer)
    except (urllib.error.URLError, ConnectionError):
        return None


def act(target):
    """An action of the API, over the UNIX socket."""
    connection = http.client.HTTPConnection("localhost", timeout=SLACK_S)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(SLACK_S)
    connection.sock.connect(str(work / "api" / "api.sock"))
    connection.request("POST", "/api/v1alpha1/" + target, '{"reason": "a test"}', {"Content-Type": "application/json"})
    answer = connection.getresponse()
    demand(answer.status == 200, target, "is answered with", answer.status, answer.read())


def in_device(*command):
    done = subprocess.run([lockstep, "twin", "exec", pod, DEVICE, *command], capture_output=True, text=True)
    demand(done.returncode == 0, *command, done.stdout, done.stderr)
    return done.stdout


def mtu(port):
    return int(re.search(r" mtu (\d+)", in_device("ip", "link", "show", port)).group(1))


class Notified(http.server.BaseHTTPRequestHandler):
    """Where the Alertmanager tells of alerts."""
    alerts = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Notified.alerts += body["alerts"]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Prometheus:
    def __init__(self, service_port):
        self.url = f"http://127.0.0.1:{free_port()}"
        (work / "token").write_text(TOKEN)
        rules = pathlib.Path("packaging/monitoring/lockstep.rules.yml").read_text()
        # The same rules, in the test's time.
        (work / "lockstep.rules.yml").write_text(re.sub(r"( for): .*", r"\1: 2s", rules))
        (work / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["lockstep.rules.yml"],
            "scrape_configs": [{"job_name": "lockstep", "authorization": {"credentials_file": str(work / "token")},
                                "static_configs": [{"targets": [f"127.0.0.1:{service_port}"]}]}]}))
        begin("prometheus", "prometheus", f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
              f"--web.listen-address={self.url[7:]}")
        soon("Prometheus is ready", lambda: read(self.url + "/api/v1/status/buildinfo"))

    def query(self, expression):
        answer = read(self.url + "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        demand(answer is not None and answer["status"] == "success", expression, answer)
        return answer["data"]["result"]

    def firing(self, name, device=None):
        alerts = read(self.url + "/api/v1/alerts")["data"]["alerts"]
        return [one for one in alerts if one["labels"]["alertname"] == name and one["state"] == "firing" and
                (device is None or one["labels"].get("device") == device)]


def begin_alertmanager():
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Notified)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    port = free_port()
    (work / "alertmanager.yml").write_text(json.dumps({
        "route": {"receiver": "test", "group_by": ["..."], "group_wait": "0s", "group_interval": "1s"},
        "receivers": [{"name": "test", "webhook_configs": [
            {"url": f"http://127.0.0.1:{receiver.server_address[1]}/", "send_resolved": True}]}]}))
    (work / "usr-share").mkdir()
    begin("alertmanager", here / "alertmanager.sh", cache, work / "usr-share", f"--config.file={work}/alertmanager.yml",
          f"--storage.path={work}/alertmanager", f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=")
    url = f"http://127.0.0.1:{port}"
    soon("Alertmanager is ready", lambda: read(url + "/api/v2/status"))
    return url


def begin_service(alertmanager):
    port = free_port()
    (work / "tokens").write_text(f"prometheus:viewer:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
    (work / "tokens").chmod(0o600)
    (work / "serve.yaml").write_text("apiVersion: lockstep.dev/v1alpha1\nkind: ServiceConfig\nspec:\n"
                                     f"  folder: {pod}\n  interval: 1s\n  resync: 10s\n  measure: false\n"
                                     f"  api: {{listen: ['unix:{work}/api/api.sock', '127.0.0.1:{port}'], tokensFile: tokens}}\n"
                                     f"  alerts: {{alertmanager: ['{alertmanager}'], after: 3s}}\n")
    return begin("serve", lockstep, "serve", "--twin", pod, "--config", work / "serve.yaml"), port


def told(name, status, device=None):
    """What the Alertmanager said of the service's own alerts."""
    return [one for one in Notified.alerts if one["labels"]["alertname"] == name and one["status"] == status and
            "instance" not in one["labels"] and (device is None or one["labels"].get("device") == device)]


def corrected(prometheus):
    """Heals, and changes: a device that was cordoned may come along by either."""
    sums = prometheus.query('sum(lockstep_heals_total{outcome="healed"}) + sum(lockstep_changes_total{outcome="kept"})')
    return float(sums[0]["value"][1])


def check_dashboard(prometheus):
    dashboard = json.loads(pathlib.Path("packaging/monitoring/lockstep-dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for query in queries:
        plain = query.replace("$job", ".*").replace("$__rate_interval", "30s").replace("$__range", "5m")
        demand("$" not in plain, "a variable that nothing fills:", query)
        result = prometheus.query(plain)
        demand(result or query.startswith(MAY_BE_EMPTY), "no data for", query)
    return len(queries)


def main():
    alertmanager = begin_alertmanager()
    service, port = begin_service(alertmanager)
    prometheus = Prometheus(port)

    print("--- all devices are in sync, and Prometheus sees it", flush=True)
    devices = len(soon("all in sync", lambda: (
        (all_ := prometheus.query("lockstep_device_drifted")) and
        prometheus.query('lockstep_devices{condition="in_sync"} == ' + str(len(all_))) and all_)))
    demand(devices == 8, devices, "devices")
    demand(not prometheus.firing("LockstepDeviceDrifted") and not told("LockstepDeviceDrifted", "firing"), "a drift too early")

    print("--- a device drifts, and nothing may heal it", flush=True)
    port_name = re.search(r"(rail\d+)", in_device("ip", "-o", "link")).group(1)
    wanted = mtu(port_name)
    act(f"devices/{DEVICE}:cordon")
    in_device("ip", "link", "set", port_name, "mtu", str(wanted - 100))
    soon("Prometheus fires", lambda: prometheus.firing("LockstepDeviceDrifted", DEVICE))
    begun = soon("Alertmanager is told", lambda: told("LockstepDeviceDrifted", "firing", DEVICE))
    demand(len({one["fingerprint"] for one in begun}) == 1, "more than one alert for one cause:", begun)
    demand(not told("LockstepDeviceDrifted", "resolved"), "resolved too early")

    print("--- it is healed", flush=True)
    before = corrected(prometheus)
    act(f"devices/{DEVICE}:uncordon")
    soon("the kernel has the MTU again", lambda: mtu(port_name) == wanted)
    soon("Prometheus is quiet", lambda: not prometheus.firing("LockstepDeviceDrifted", DEVICE))
    ended = soon("Alertmanager is told the end", lambda: told("LockstepDeviceDrifted", "resolved", DEVICE))
    demand(ended[0]["fingerprint"] == begun[0]["fingerprint"], "another alert was resolved")
    soon("it is counted", lambda: corrected(prometheus) > before)

    print("--- the specs are broken, and mended", flush=True)
    good = (pod / "fabric.yaml").read_text()
    (pod / "fabric.yaml").write_text(good + "\nnonsense: true\n")
    soon("Prometheus fires", lambda: prometheus.firing("LockstepRevisionInvalid"))
    soon("Alertmanager is told", lambda: [one for one in told("LockstepStalled", "firing")
                                          if one["labels"]["reason"] == "InvalidRevision"])
    (pod / "fabric.yaml").write_text(good)
    soon("Prometheus is quiet", lambda: not prometheus.firing("LockstepRevisionInvalid"))

    print("--- every query of the dashboard has an answer:", check_dashboard(prometheus), flush=True)

    print("--- the service is gone", flush=True)
    service.send_signal(signal.SIGTERM)
    demand(service.wait(timeout=SLACK_S) == 0, "it ended with", service.returncode)
    soon("Prometheus fires", lambda: prometheus.firing("LockstepDown"))
    print("passed")


main()
