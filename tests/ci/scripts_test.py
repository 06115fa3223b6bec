#!/usr/bin/env python3
"""The scripts of examples/ci as code hosts call them: in clones of a real git repository, with the variables that GitHub and
GitLab set, and with a server that answers as their API does. The oracles are git, cmark-gfm, the specs themselves and what
the server got. Usage: scripts_test.py LOCKSTEP SOURCES SCHEMAS; SCHEMAS is not used
"""
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
import xml.etree.ElementTree

LOCKSTEP, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SCRIPTS = SOURCES / "examples/ci"
TOKEN = "a-token-that-nobody-may-see"
COMMENT_LIMIT = 65_536  # of GitHub, in characters


def git(folder, *words):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def replace(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text, f"{file} has no {old}"
    file.write_text(text.replace(old, new), encoding="utf-8")


def annotations(text):
    """The workflow commands in a log: actions/runner, ActionCommand.cs."""
    out = []
    for line in text.splitlines():
        found = re.fullmatch(r"::(\w+) ([^:]*(?:%3A[^:]*)*)::(.*)", line)
        if found:
            out.append((found[1], dict(one.split("=", 1) for one in found[2].split(",")), found[3]))
    return out


def page_of(text):
    """The page as GitHub shows it."""
    command = ["cmark-gfm", "-e", "table", "--unsafe"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-ci-")
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        self.origin = self.top / "origin"
        self.origin.mkdir()
        git(self.origin, "init", "--quiet", "--initial-branch=main")
        git(self.origin, "config", "uploadpack.allowAnySHA1InWant", "true")  # as GitHub and GitLab allow it
        self.summary, self.output = self.top / "summary.md", self.top / "output"

    def commit_specs(self, example="rail-pod", lock=True):
        shutil.copytree(SOURCES / "examples" / example, self.origin / "specs", dirs_exist_ok=True)
        if lock:
            subprocess.run([LOCKSTEP, "lock", "specs"], cwd=self.origin, check=True, capture_output=True)
        return self.commit("specs")

    def commit(self, subject):
        git(self.origin, "add", "--all")
        git(self.origin, "commit", "--quiet", "--allow-empty", "-m", subject)
        return git(self.origin, "rev-parse", "HEAD")

    def clone(self):
        """As a runner has it: with the newest commit only."""
        git(self.top, "clone", "--quiet", "--depth=1", f"file://{self.origin}", "clone")
        return self.top / "clone"

    def run_script(self, name, *words, folder, forge="github", program=LOCKSTEP, **more):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.top), "LOCKSTEP": str(program), "OUT": "out",
                       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), "LOCKSTEP_STATE_DIR": str(self.top / "state")}
        if forge == "github":
            environment |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.output)}
        else:
            environment |= {"GITLAB_CI": "true"}
        return subprocess.run([SCRIPTS / name, *words], cwd=folder, env=environment | more, capture_output=True, text=True,
                              check=False, timeout=300)


class Check(Repository):
    def check(self, base, code=0, **more):
        clone = self.clone()
        done = self.run_script("check.sh", folder=clone, BASE=base, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(len(git(clone, "worktree", "list").splitlines()), 1, "a work tree was left behind")
        return clone, done

    def test_shows_what_changes_as_the_summary(self):
        base = self.commit_specs()
        replace(self.origin / "specs/fabric.yaml", "host: 9000", "host: 8900")
        self.commit("a smaller MTU")
        clone, done = self.check(base)
        page = (clone / "out/change.md").read_text(encoding="utf-8")
        self.assertEqual(page, self.summary.read_text(encoding="utf-8"))
        self.assertIn("`interface[*]/mtu` | `9000 → 8900` | `gpu[1-4]:rail[0-1], leaf[0-1]:swp[1-4]`", page)
        self.assertLess(page.index("Needs approval"), page.index("interface[*]/mtu"), "it does not lead with what matters")
        self.assertEqual(annotations(done.stdout), [])

    def test_says_that_nothing_changes(self):
        base = self.commit_specs()
        (self.origin / "README").write_text("unrelated\n", encoding="utf-8")
        self.commit("unrelated")
        clone, _ = self.check(base)
        self.assertIn("no difference: 8 devices as before", (clone / "out/change.md").read_text(encoding="utf-8"))

    def test_annotates_the_line_that_is_wrong(self):
        base = self.commit_specs()
        replace(self.origin / "specs/fabric.yaml", "{host: 9000, fabric: 9216}", "{host: 9216, fabric: 9000}")
        self.commit("wrong")
        clone, done = self.check(base, code=1)
        found = [one for one in annotations(done.stdout) if one[1]["title"] == "LS105"]
        self.assertEqual([one[0] for one in found], ["error"])
        place = found[0][1]
        self.assertEqual(place["file"], "specs/fabric.yaml")
        line = (clone / place["file"]).read_text(encoding="utf-8").splitlines()[int(place["line"]) - 1]
        self.assertIn("9216", line)
        self.assertIn("LS105", done.stderr, "the log has no text for people")
        self.assertIn("LS105", self.summary.read_text(encoding="utf-8"))

    def test_warnings_fail(self):
        base = self.commit_specs()
        replace(self.origin / "specs/roce.yaml", "  pfc: {watchdog", "  # pfc: {watchdog")
        self.commit("no watchdog")
        _, done = self.check(base, code=1)
        self.assertIn(("error", "LS116"), [(one[0], one[1]["title"]) for one in annotations(done.stdout)])

    def test_stale_numbers_fail(self):
        base = self.commit_specs(lock=False)
        self.commit("still none")
        _, done = self.check(base, code=1)
        [(level, place, text)] = annotations(done.stdout)
        self.assertEqual((level, place["file"], place["title"]), ("error", "specs/allocations.lock", "lockstep/stale-lock"))
        self.assertIn("lockstep lock", text)

    def test_gitlab_gets_code_quality_and_no_commands(self):
        base = self.commit_specs()
        replace(self.origin / "specs/fabric.yaml", "{host: 9000, fabric: 9216}", "{host: 9216, fabric: 9000}")
        self.commit("wrong")
        clone, done = self.check(base, code=1, forge="gitlab")
        findings = json.loads((clone / "out/codequality.json").read_text(encoding="utf-8"))
        self.assertIn(("LS105", "specs/fabric.yaml", "critical"),
                      [(one["check_name"], one["location"]["path"], one["severity"]) for one in findings])
        self.assertEqual(done.stdout, "")

    def test_valid_specs_give_gitlab_an_empty_report(self):
        base = self.commit_specs()
        self.commit("same")
        clone, _ = self.check(base, forge="gitlab")
        self.assertEqual(json.loads((clone / "out/codequality.json").read_text(encoding="utf-8")), [])

    def test_new_specs_have_nothing_to_compare_with(self):
        base = self.commit("empty")
        self.commit_specs()
        clone, _ = self.check(base)
        self.assertIn("New specs", (clone / "out/change.md").read_text(encoding="utf-8"))

    def test_a_commit_that_is_nowhere_is_an_error_and_not_new_specs(self):
        self.commit_specs()
        clone, done = self.check("0123456789" * 4, code=1)
        self.assertIn("is neither in this clone nor at its origin", done.stderr)
        self.assertFalse((clone / "out/change.md").exists())

    def test_a_commit_that_cannot_be_checked_out_is_an_error(self):
        base = self.commit_specs()
        self.commit("same")
        (self.top / "bin").mkdir()
        stub = self.top / "bin/git"
        stub.write_text(f'#!/bin/sh\n[ "$1 $2" != "worktree add" ] || exit 128\nexec {shutil.which("git")} "$@"\n', encoding="utf-8")
        stub.chmod(0o755)
        _, done = self.check(base, code=1, PATH=f"{self.top}/bin:{os.environ['PATH']}")
        self.assertIn("can't be checked out", done.stderr)

    def test_markup_in_specs_is_text_in_the_page(self):
        base = self.commit_specs()
        replace(self.origin / "specs/cluster.yaml", "spec:", "spec:\n  '<img src=x onerror=1></pre>': 1")
        self.commit("hostile")
        clone, _ = self.check(base, code=1)
        page = page_of((clone / "out/change.md").read_text(encoding="utf-8"))
        self.assertNotIn("<img", page)
        self.assertIn("&lt;img", page)
        self.assertEqual(page.count("</pre>"), 1)


class Page(Repository):
    """A change on 500 devices is a page: GitHub refuses a longer comment, and nobody reads one."""

    def test_500_devices(self):
        self.commit_specs("big-pod", lock=False)
        specs = self.origin / "specs"
        fabric = specs / "fabric.yaml"
        # 480 hosts, 32 leaf switches of 120 ports each, 4 spine switches.
        for file in (fabric, specs / "cluster.yaml"):
            text = file.read_text(encoding="utf-8")
            for old, new in (("gpu[1-64]", "gpu[1-480]"), ("swp[1-64]", "swp[1-120]"), ("leaf[0-7]", "leaf[0-31]"),
                             ("down[0-7]", "down[0-31]")):
                text = text.replace(old, new)
            file.write_text(text, encoding="utf-8")
        subprocess.run([LOCKSTEP, "lock", "specs"], cwd=self.origin, check=True, capture_output=True)
        base = self.commit("516 devices")
        for old, new in (("host: 9000", "host: 8900"), ("10.64.0.0/16", "10.96.0.0/16"), ("4200000000-4200009999",
                                                                                          "4201000000-4201009999")):
            replace(fabric, old, new)
        (specs / "allocations.lock").unlink()
        subprocess.run([LOCKSTEP, "lock", "specs"], cwd=self.origin, check=True, capture_output=True)
        self.commit("all of them change")
        clone = self.clone()
        done = self.run_script("check.sh", folder=clone, BASE=base)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (clone / "out/change.md").read_text(encoding="utf-8")
        self.assertLess(len(page), COMMENT_LIMIT)
        self.assertLess(len(page.splitlines()), 60, "more than a page")
        # The comparison of all entries is the oracle for what the page says of the whole.
        git(clone, "worktree", "add", "--quiet", "--detach", "../before", base)
        all_of_it = subprocess.run([LOCKSTEP, "diff", "-o", "json", "../before/specs", "specs"], cwd=clone, capture_output=True,
                                   text=True, check=False)
        devices = [one for one in json.loads(all_of_it.stdout)["devices"] if one["change"] == "changed"]
        self.assertGreater(len(devices), 500)
        disturbed = [one for one in devices if any(entry["disruption"] == "traffic" for entry in one["entries"])]
        lines = page.splitlines()
        self.assertIn(f"{len(devices)} devices changed", lines[0])
        self.assertIn("disruption: traffic", lines[0])
        self.assertRegex(lines[2], rf"^- \*\*Needs approval\*\* where traffic flows .*: {len(disturbed)} devices: ")
        rows = [one for one in lines if one.startswith(("| traffic", "| none"))]
        self.assertEqual(page_of(page).count("<tr>"), len(rows) + 1, "a row is no row for GitHub")
        self.assertEqual(rows, sorted(rows, reverse=True, key=lambda row: row.startswith("| traffic")))
        left_out = re.search(r"^And (\d+) more rows?; `lockstep diff` shows all\.$", page, re.MULTILINE)
        self.assertTrue(left_out or len(rows) < 40)


class Plan(Repository):
    """A runner without access to devices, and a real service: its devices are out of its reach, too, which is a plan of its own."""

    def serve(self):
        specs = self.origin / "specs"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.server = f"http://127.0.0.1:{free.getsockname()[1]}"
        tokens, config = self.top / "tokens", self.top / "serve.yaml"
        tokens.write_text(f"ci:viewer:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n", encoding="utf-8")
        tokens.chmod(0o600)
        config.write_text("apiVersion: lockstep.dev/v1alpha1\nkind: ServiceConfig\nspec:\n"
                          f"  folder: {specs}\n  measure: false\n"
                          f"  api: {{listen: ['{self.server.removeprefix('http://')}'], tokensFile: tokens}}\n", encoding="utf-8")
        environment = os.environ | {"LOCKSTEP_STATE_DIR": str(self.top / "service"), "LOCKSTEP_RUN_DIR": str(self.top / "locks")}
        log = open(self.top / "serve.log", "wb")
        self.addCleanup(log.close)
        service = subprocess.Popen([LOCKSTEP, "serve", "--config", config], env=environment, stdout=log, stderr=log)
        self.addCleanup(service.wait)
        self.addCleanup(service.kill)
        ask = urllib.request.Request(f"{self.server}/api/v1alpha1/hostprofiles", headers={"Authorization": f"Bearer {TOKEN}"})
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if json.load(urllib.request.urlopen(ask, timeout=60))["items"]:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.fail((self.top / "serve.log").read_text(encoding="utf-8"))

    def plan(self, code, token=TOKEN, **more):
        clone = self.top / "clone"
        if not clone.exists():
            self.clone()
        done = self.run_script("plan.sh", folder=clone, LOCKSTEP_SERVER=self.server, LOCKSTEP_TOKEN=token, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn(token, done.stdout + done.stderr)
        page = (clone / "out/plan.md").read_text(encoding="utf-8")
        self.assertNotIn(token, page)
        self.assertEqual(page, self.summary.read_text(encoding="utf-8") if self.summary.exists() else page)
        return page_of(page), done

    def test_the_service_plans_the_new_specs(self):
        self.commit_specs()
        self.serve()
        replace(self.origin / "specs/fabric.yaml", "host: 9000", "host: 8900")
        self.commit("a smaller MTU")
        page, done = self.plan(3)
        self.assertIn("Plan: incomplete", page)
        self.assertIn("plan for rail-pod", page)
        self.assertIn("gpu[1-4]", done.stderr)
        replace(self.top / "clone/specs/fabric.yaml", "{host: 8900, fabric: 9216}", "{host: 9216, fabric: 9000}")
        self.summary.unlink()
        page, done = self.plan(1)
        self.assertIn("No plan", page)
        self.assertRegex(done.stderr, r"specs/fabric.yaml:\d+:\d+")
        self.assertIn("LS105", page)
        self.summary.unlink()
        page, done = self.plan(1, token="another-token", forge="gitlab")
        self.assertIn("does not know who you are", done.stderr)

    def test_exit_codes_become_titles(self):
        self.commit_specs()
        self.server = "https://pod1.example.org"
        stub = self.top / "stub"
        for wanted, code, title in ((0, 0, "nothing to do"), (2, 0, "this changes devices"), (3, 3, "incomplete"), (1, 1, "No plan")):
            stub.write_text("#!/bin/sh\n"
                            '[ "$1 $2 $3 $4 $6 $8" = "plan --server https://pod1.example.org --token-file --ca specs" ] || exit 9\n'
                            f'[ "$(cat "$5")$(stat -c %a "$5")$(cat "$7")" = "{TOKEN}600a CA" ] || exit 9\n'
                            f"echo '<b>the plan'; exit {wanted}\n", encoding="utf-8")
            stub.chmod(0o755)
            if self.summary.exists():
                self.summary.unlink()
            page, _ = self.plan(code, program=stub, LOCKSTEP_CA="a CA")
            self.assertIn(title, page)
            self.assertIn("&lt;b&gt;the plan", page)

    def test_a_plan_of_any_length_fits_a_comment(self):
        self.commit_specs()
        self.server = "https://pod1.example.org"
        stub, line = self.top / "stub", "<gpu[1-500]> \u2192 " * 20
        stub.write_text(f"#!/bin/sh\nyes '{line}' | head -n 2000 | tee /dev/stderr\nexit 2\n", encoding="utf-8")
        stub.chmod(0o755)
        page, _ = self.plan(0, program=stub)
        self.assertLess(len((self.top / "clone/out/plan.md").read_text(encoding="utf-8")), COMMENT_LIMIT - 500)
        self.assertEqual(page.count("more lines, in the log"), 2)
        shown = page.count("&lt;gpu[1-500]&gt; \u2192") // 20
        self.assertGreater(shown, 50)
        self.assertEqual(sum(int(more) for more in re.findall(r"and (\d+) more lines", page)) + shown, 4000)

    def test_without_a_service_there_is_no_plan(self):
        self.commit_specs()
        done = self.run_script("plan.sh", folder=self.clone())
        self.assertEqual((done.returncode, done.stdout), (0, "no plan: LOCKSTEP_SERVER is not set\n"))
        done = self.run_script("plan.sh", folder=self.top / "clone", LOCKSTEP_SERVER="https://pod1.example.org")
        self.assertEqual(done.returncode, 1)
        self.assertIn("LOCKSTEP_TOKEN: is not set", done.stderr)


class Trial(Repository):
    """Without a twin, by a program that answers as lockstep does: twin_ci_trial has real ones."""

    REPORT = {"verdict": "kept", "gate": {"why": "as it was"}, "steps": [],
              "benchmarks": {"benchmarks": [{"suite": "slo", "name": "<pairs>", "slo": [
                  {"metric": "bandwidth", "statistic": "min", "want": "85%", "have": "99%", "worst": "gpu1", "reason": "", "verdict": "pass"},
                  {"metric": "latency", "statistic": "p99", "want": "5ms", "have": "9ms", "worst": "gpu2", "reason": "", "verdict": "fail"},
                  {"metric": "busbw", "statistic": "min", "want": "1", "have": "?", "worst": "", "reason": "no CPU",
                   "verdict": "unknown"}]}]}}

    def trial(self, new=0, former=0, drift=0):
        """`new`, `former`, `drift`: how applying the new and the former specs, and looking for drift, end."""
        stub = self.top / "stub"
        (self.top / "report.json").write_text(json.dumps(self.REPORT), encoding="utf-8")
        stub.write_text(f"""#!/bin/sh
case "$*" in
  "twin list"*) echo '{{"twins": []}}' ;;
  apply*"-o json"*) cat {self.top}/report.json; exit {new} ;;
  apply*) exit {former} ;;
  drift*) echo '<what differs>'; exit {drift} ;;
esac
""", encoding="utf-8")
        stub.chmod(0o755)
        base = self.commit_specs()
        replace(self.origin / "specs/fabric.yaml", "host: 9000", "host: 8900")
        self.commit("a smaller MTU")
        clone = self.clone()
        done = self.run_script("trial.sh", folder=clone, BASE=base, program=stub)
        self.assertFalse((clone / "out/trial").exists(), "something is left")
        self.assertEqual(len(git(clone, "worktree", "list").splitlines()), 1, "a work tree was left behind")
        page = (clone / "out/trial.md").read_text(encoding="utf-8")
        self.assertEqual(page, self.summary.read_text(encoding="utf-8"))
        suites = xml.etree.ElementTree.parse(clone / "out/trial.xml").getroot()
        cases = {one.get("name"): ["passed", *(child.tag for child in one)][-1] for one in suites.iter("testcase")}
        counted = {what: sum(one == what for one in cases.values()) for what in ("failure", "error")}
        self.assertEqual({what: int(suites[0].get(what + "s")) for what in counted}, counted)
        self.assertEqual(int(suites[0].get("tests")), len(cases))
        return done.returncode, page, cases

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("trial.sh wants root")

    def test_a_change_that_holds_passes(self):
        code, page, cases = self.trial()
        self.assertEqual(code, 0)
        self.assertIn("### Trial on a twin: kept", page)
        self.assertEqual((cases["new specs are applied, and their SLOs hold"], cases["nothing differs afterwards"]), ("passed", "passed"))
        self.assertEqual((cases["<pairs>: bandwidth min 85%"], cases["<pairs>: latency p99 5ms"], cases["<pairs>: busbw min 1"]),
                         ("passed", "failure", "error"))
        self.assertIn("<td>slo/&lt;pairs&gt;: bandwidth min 85%</td>", page_of(page))

    def test_one_that_breaks_an_slo_fails(self):
        code, page, cases = self.trial(new=2)
        self.assertEqual((code, cases["new specs are applied, and their SLOs hold"]), (1, "failure"))
        self.assertIn("### Trial on a twin: failed", page)
        self.assertNotIn("nothing differs afterwards", cases)

    def test_what_could_not_be_judged_is_no_pass(self):
        code, _, cases = self.trial(new=3)
        self.assertEqual((code, cases["new specs are applied, and their SLOs hold"]), (1, "error"))

    def test_former_specs_need_not_be_validated_but_applied(self):
        self.assertEqual(self.trial(former=3)[0], 0)

    def test_former_specs_that_fail_end_it(self):
        code, _, cases = self.trial(former=1)
        self.assertEqual((code, cases["former specs are applied"]), (1, "error"))

    def test_drift_afterwards_fails(self):
        code, page, cases = self.trial(drift=2)
        self.assertEqual((code, cases["nothing differs afterwards"]), (1, "failure"))
        self.assertIn("&lt;what differs&gt;", page)


class Drift(Repository):
    def drift(self, code, program=LOCKSTEP, **more):
        clone = self.top / "clone"
        if not clone.exists():
            self.clone()
        self.output.write_text("", encoding="utf-8")
        done = self.run_script("drift.sh", folder=clone, program=program, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return clone / "out", self.output.read_text(encoding="utf-8").splitlines(), done

    def test_unreachable_devices_are_not_in_sync(self):
        self.commit_specs()
        out, said, done = self.drift(3)
        self.assertEqual(said, ["result=incomplete", "reports=true"])
        self.assertIn("this is not in sync", done.stderr)
        results = json.loads((out / "drift.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
        self.assertEqual(len(results), 8, "one for each device")
        self.assertEqual(len(annotations(done.stdout)), 8)
        self.assertEqual({one[0] for one in annotations(done.stdout)}, {"warning"})
        self.assertIn("0 of 8 devices in sync", self.summary.read_text(encoding="utf-8"))

    def test_all_reports_are_of_one_observation(self):
        self.commit_specs("one-host")
        out, said, done = self.drift(2)
        self.assertEqual(said, ["result=drift", "reports=true"])
        document = json.loads((out / "drift.json").read_text(encoding="utf-8"))
        number = document["summary"]["items"]
        self.assertGreater(number, 0)
        self.assertEqual(len(json.loads((out / "codequality.json").read_text(encoding="utf-8"))), number)
        self.assertEqual(len(json.loads((out / "drift.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]), number)
        self.assertEqual((out / "drift.xml").read_text(encoding="utf-8").count("<failure "), number)
        self.assertEqual(len(annotations(done.stdout)), number)

    def test_an_error_leaves_no_report_that_would_close_alerts(self):
        self.commit_specs("one-host")
        out, said, _ = self.drift(2)
        replace(self.top / "clone/specs/host.yaml", "role: host", "role: hots")
        out, said, _ = self.drift(1)
        self.assertEqual(said, ["result=error", "reports=false"])
        self.assertEqual(sorted(one.name for one in out.iterdir()), [])

    def test_exit_codes_become_results(self):
        self.commit_specs()
        stub = self.top / "stub"
        stub.write_text('#!/bin/sh\nfor word; do case $word in *=*) echo "::error ::x" >"${word#*=}";; esac; done\nexit $CODE\n',
                        encoding="utf-8")
        stub.chmod(0o755)
        for code, result in ((0, "in-sync"), (2, "drift"), (3, "incomplete"), (1, "error"), (137, "error")):
            _, said, _ = self.drift(code, program=stub, CODE=str(code))
            self.assertEqual(said, [f"result={result}", f"reports={'false' if result == 'error' else 'true'}"])


class Install(Repository):
    """install.sh with an apt-get that only notes what it should do."""

    def install(self, deb, checksum, *words, code=0):
        stubs = self.top / "bin"
        stubs.mkdir(exist_ok=True)
        (stubs / "apt-get").write_text(f'#!/bin/sh\necho "$@" >>{self.top}/asked\n', encoding="utf-8")
        (stubs / "lockstep").write_text("#!/bin/sh\n", encoding="utf-8")
        for stub in stubs.iterdir():
            stub.chmod(0o755)
        done = self.run_script("install.sh", *words, folder=self.top, PATH=f"{stubs}:{os.environ['PATH']}",
                               LOCKSTEP_DEB=str(deb), LOCKSTEP_DEB_SHA256=checksum)
        self.assertEqual(done.returncode == 0, code == 0, done.stderr)
        return (self.top / "asked").read_text(encoding="utf-8")

    def test_installs_only_what_has_the_checksum(self):
        deb = self.top / "some.deb"
        deb.write_bytes(b"a package")
        self.assertNotIn("lockstep.deb", self.install(deb, "0" * 64, code=1))
        self.assertIn("lockstep.deb", self.install(deb, hashlib.sha256(b"a package").hexdigest()))

    def test_a_package_comes_by_https_or_from_a_file(self):
        self.assertNotIn("lockstep.deb", self.install("http://127.0.0.1/lockstep.deb", "0" * 64, code=1))

    def test_only_the_twin_needs_frr(self):
        deb = self.top / "some.deb"
        deb.write_bytes(b"a package")
        self.assertNotIn("frr", self.install(deb, hashlib.sha256(b"a package").hexdigest()))
        self.assertIn("frr iproute2 lldpd", self.install(deb, hashlib.sha256(b"a package").hexdigest(), "twin"))


class Forge(http.server.BaseHTTPRequestHandler):
    """The comments of one pull request, as the APIs of GitHub and GitLab serve them."""

    def answer(self, code, document):
        data = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def allowed(self):
        server = self.server
        server.seen.append((self.command, self.path))
        server.shown += TOKEN.encode() in b"".join(one.read_bytes() for one in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                                                    if one.exists())
        given = self.headers.get("Authorization") == f"Bearer {TOKEN}" or self.headers.get("PRIVATE-TOKEN") == TOKEN
        if not given or server.refuses:
            self.answer(403, {"message": "Resource not accessible by integration"})
        return given and not server.refuses

    def do_GET(self):
        if self.allowed():
            page = int(re.search(r"[?&]page=(\d+)", self.path)[1])
            self.answer(200, self.server.comments[(page - 1) * 100 : page * 100])

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def do_POST(self):
        if self.allowed():
            self.server.comments.append({"id": len(self.server.comments) + 1, "body": self.body(), "user": {"type": "Bot"}})
            self.answer(201, self.server.comments[-1])

    def do_PATCH(self):
        if self.allowed():
            self.server.comments[int(self.path.rsplit("/", 1)[1]) - 1]["body"] = self.body()
            self.answer(200, {})

    do_PUT = do_PATCH

    def log_message(self, *words):
        pass


class Comment(Repository):
    def setUp(self):
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forge)
        self.server.comments, self.server.seen, self.server.refuses, self.server.shown = [], [], False, 0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.page = self.top / "change.md"
        self.page.write_text("### one \"page\" → `x`\n", encoding="utf-8")

    def comment(self, code=0, forge="github", **more):
        url = f"http://127.0.0.1:{self.server.server_port}"
        settings = {"github": {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": url, "GITHUB_REPOSITORY": "a/b", "PULL_REQUEST": "7"},
                    "gitlab": {"LOCKSTEP_COMMENT_TOKEN": TOKEN, "CI_API_V4_URL": url, "CI_PROJECT_ID": "3",
                               "CI_MERGE_REQUEST_IID": "7"}}
        done = self.run_script("comment.sh", self.page, folder=self.top, forge=forge, **settings[forge] | more)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn(TOKEN, done.stdout + done.stderr)
        self.assertEqual(self.server.shown, 0, "the token was in a list of processes")

    def test_later_runs_replace_the_comment(self):
        for forge, update, path in (("github", "PATCH", "/repos/a/b/issues/comments/1"),
                                    ("gitlab", "PUT", "/projects/3/merge_requests/7/notes/1")):
            self.server.comments.clear()
            self.comment(forge=forge)
            self.page.write_text("### two\n", encoding="utf-8")
            self.comment(forge=forge)
            self.assertEqual(len(self.server.comments), 1)
            self.assertEqual(self.server.comments[0]["body"], "<!-- lockstep: change.md -->\n### two\n")
            self.assertEqual(self.server.seen[-1], (update, path))

    def test_finds_its_comment_behind_a_hundred_others(self):
        self.server.comments += [{"id": number + 1, "body": "x", "user": {"type": "User"}} for number in range(150)]
        self.comment()
        self.comment()
        self.assertEqual(len(self.server.comments), 151)

    def test_leaves_comments_of_people_alone(self):
        mine = {"id": 1, "body": "<!-- lockstep: change.md --> quoted", "user": {"type": "User"}}
        self.server.comments.append(dict(mine))
        self.comment()
        self.assertEqual(self.server.comments[0], mine)
        self.assertEqual(len(self.server.comments), 2)

    def test_a_refusal_is_an_error(self):
        self.server.refuses = True
        self.comment(code=22)  # curl(1): an HTTP error with --fail

    def test_a_page_that_is_too_long_is_not_sent(self):
        self.page.write_text("x" * COMMENT_LIMIT, encoding="utf-8")
        self.comment(code=1)
        self.assertEqual(self.server.seen, [])

    def test_gitlab_without_a_token_is_no_error(self):
        self.comment(forge="gitlab", LOCKSTEP_COMMENT_TOKEN="")
        self.assertEqual(self.server.seen, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
