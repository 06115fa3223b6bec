#!/usr/bin/env bash
# A service fed from git on rail-pod's twin, without the gate: from a webhook to the start of its change and to its end, by the
# clock of whoever calls, which starts before the request and stops when the event is read, and the service's CPU while it is idle:
# serve_webhook.sh [TIMES]
. "$(dirname "$0")/twin_of_perf.sh"
copy_example rail-pod
sed -i 's/  # mode: converge .*/  mode: converge/' "$specs/cluster.yaml"
printf 'apiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: at-once}\nspec: {selector: {}}\n' >"$specs/policy.yaml"
"$lockstep" twin up "$specs" >/dev/null
export STATE_DIRECTORY=$work/service CACHE_DIRECTORY=$work/cache
mkdir -m 700 "$work/service" "$work/cache" "$work/api"
python3 -B - "$lockstep" "$specs" "$work" "${1:-20}" <<'PYTHON'
import hashlib, hmac, http.client, json, os, pathlib, queue, re, socket, statistics, subprocess, sys, threading, time
lockstep, specs, work, times = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
IDLE_S = 20
SECRET = b"a-secret-of-some-length"

def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

def git(*words):
    return run("git", "-C", work / "clone", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words)

def commit(count):
    file = work / "clone" / "pod" / "fabric.yaml"
    file.write_text(re.sub(r"maxPaths: \d+", f"maxPaths: {count}", file.read_text()))
    git("commit", "-qam", f"{count} paths")
    git("push", "-q", "origin", "HEAD:main")
    return git("rev-parse", "HEAD")

def webhook():
    body = json.dumps({"ref": "refs/heads/main"})
    connection = http.client.HTTPConnection("localhost", timeout=10)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(work / "api" / "api.sock"))
    connection.request("POST", "/webhooks/gitea", body, {"Content-Type": "application/json", "X-Gitea-Event": "push",
                                                         "X-Gitea-Signature": hmac.new(SECRET, body.encode(), hashlib.sha256).hexdigest()})
    status = connection.getresponse().status
    if status != 202:
        raise SystemExit(f"the webhook is answered with {status}")

def told(reason, revision):
    """When this event has been read."""
    while line := lines.get(timeout=120):
        event = json.loads(line)
        if event["reason"] in ("ApprovalNeeded", "ChangeFailed", "ChangeRefused", "ChangeSuperseded", "RevisionInvalid", "SourceTrouble"):
            raise SystemExit(line)
        if event["reason"] == reason and event["object"] == f"Revision/{revision}":
            return time.monotonic()
    raise SystemExit(f"the service ended without {reason}")

def paths(leaf):
    text = run(lockstep, "twin", "exec", specs, leaf, "vtysh", "-c", "show running-config")
    return int(re.search(r"maximum-paths (\d+)", text).group(1))

def cpu_seconds():
    return sum(int(field) for field in pathlib.Path(f"/proc/{service.pid}/stat").read_text().rpartition(")")[2].split()[11:15]) / os.sysconf("SC_CLK_TCK")

run("git", "init", "-q", "--bare", "-b", "main", work / "origin.git")
run("git", "init", "-q", "-b", "main", work / "clone")
git("remote", "add", "origin", work / "origin.git")
run("cp", "-r", specs, work / "clone" / "pod")
git("add", "-A")
first = commit(32)
(work / "secret").write_bytes(SECRET)
(work / "secret").chmod(0o600)
(work / "serve.yaml").write_text(f"""apiVersion: lockstep.dev/v1alpha1
kind: ServiceConfig
spec:
  git: {{repository: {work}/origin.git, path: pod}}
  interval: 1h
  measure: false
  api: {{listen: ['unix:{work}/api/api.sock'], webhooks: {{gitea: secret}}}}
""")
service = subprocess.Popen([lockstep, "serve", "-o", "json", "--twin", specs, "--config", work / "serve.yaml"], stdout=subprocess.PIPE,
                           stderr=open(work / "errors", "w"), text=True)
lines = queue.Queue()
def read():
    for line in service.stdout:
        lines.put(line)
    lines.put("")
threading.Thread(target=read, daemon=True).start()
try:
    told("ChangeKept", first)
    planned, kept = [], []
    for n in range(times):
        count = 16 + n % 2
        revision = commit(count)
        begin = time.monotonic()
        webhook()
        planned.append(told("ChangeBegan", revision) - begin)
        kept.append(told("ChangeKept", revision) - begin)
        if (paths("leaf0"), paths("leaf1")) != (count, count):
            raise SystemExit(f"the leaves have {paths('leaf0')} and {paths('leaf1')} paths, not {count}")
    for name, values, most in (("begun", planned, 1), ("converged", kept, 3)):
        print(f"{name:10} median {statistics.median(values):6.3f} s  largest {max(values):6.3f} s  over {most} s {sum(v > most for v in values)}"
              f"  n {len(values)}")
    time.sleep(5)  # the looks after the last change
    before = cpu_seconds()
    time.sleep(IDLE_S)
    print(f"idle       {100 * (cpu_seconds() - before) / IDLE_S:.2f} % of a core")
finally:
    service.terminate()
    service.wait()
    sys.stderr.write((work / "errors").read_text())
PYTHON
