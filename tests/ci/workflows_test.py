#!/usr/bin/env python3
"""The workflow files of examples/ci and what they upload, by the official schemas (official.py), and by rules that no schema
has: pinned actions, few permissions, time limits, scripts that exist. Each validator must also refuse something.
Usage: workflows_test.py LOCKSTEP SOURCES SCHEMAS; SCHEMAS is a folder where fetched schemas stay.
Exit code 77: all that was tested holds, and the official schemas could not be had.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import official
import reports
import yaml

LOCKSTEP, SOURCES, SCHEMAS = (pathlib.Path(one).resolve() for one in sys.argv[1:4])
CI = SOURCES / "examples/ci"
WORKFLOWS = sorted((CI / "github").glob("*.yml"))
PIPELINE = CI / "gitlab/gitlab-ci.yml"
WITHOUT_JOBS = {"variables", "workflow", "default", "stages"}  # keywords of a pipeline at its top
skipped = []


class Loader(yaml.SafeLoader):
    """`on` is a word and no boolean: YAML 1.2, as both code hosts read it."""


Loader.yaml_implicit_resolvers = {first: [one for one in all_of_it if one[0] != "tag:yaml.org,2002:bool"]
                                  for first, all_of_it in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


def read(file):
    return yaml.load(file.read_text(encoding="utf-8"), Loader)


def commands_of(file):
    """All that a file runs in a shell."""
    document = read(file)
    if file == PIPELINE:
        for name, job in document.items():
            if name not in WITHOUT_JOBS:
                yield from job.get("before_script", []) + job.get("script", []) + job.get("after_script", [])
    else:
        for job in document["jobs"].values():
            yield from (step["run"] for step in job["steps"] if "run" in step)


class Rules(unittest.TestCase):
    def test_there_are_workflows(self):
        self.assertEqual([one.name for one in WORKFLOWS], ["lockstep-drift.yml", "lockstep.yml"])

    def test_scripts_exist_and_can_run(self):
        named = {one for file in [*WORKFLOWS, PIPELINE] for command in commands_of(file)
                 for one in re.findall(r"\bci/([\w.-]+)", command)}
        self.assertEqual(named, {"install.sh", "check.sh", "comment.sh", "plan.sh", "trial.sh", "drift.sh"})
        for name in named:
            self.assertTrue((CI / name).stat().st_mode & 0o100, name)

    def test_commands_contain_nothing_that_others_wrote(self):
        # What is in ${{ }} becomes a part of the script: a branch may be called `$(...)`.
        for file in WORKFLOWS:
            for command in commands_of(file):
                self.assertNotIn("${{", command)

    def test_actions_are_pinned_to_commits(self):
        for file in WORKFLOWS:
            used = re.findall(r"uses: (\S+)(.*)", file.read_text(encoding="utf-8"))
            self.assertTrue(used)
            for action, comment in used:
                self.assertRegex(action, r"^[\w./-]+@[0-9a-f]{40}$")
                self.assertRegex(comment, r"^ # v[0-9.]+$")

    def test_permissions_are_few(self):
        may = {("lockstep.yml", "check"): {"contents": "read", "pull-requests": "write"},
               ("lockstep.yml", "plan"): {"contents": "read", "pull-requests": "write"},
               ("lockstep.yml", "trial"): {"contents": "read"},
               ("lockstep-drift.yml", "drift"): {"contents": "read", "security-events": "write"}}
        for file in WORKFLOWS:
            document = read(file)
            self.assertEqual(document["permissions"], {})
            self.assertNotIn("pull_request_target", document["on"])
            self.assertTrue(document["concurrency"]["group"])
            for name, job in document["jobs"].items():
                self.assertEqual(job["permissions"], may[file.name, name])
                self.assertLessEqual(job["timeout-minutes"], 30)
                for step in job["steps"]:
                    if step.get("uses", "").startswith("actions/checkout@"):
                        self.assertIs(step["with"]["persist-credentials"], False)
                    if step.get("uses", "").startswith("actions/upload-artifact@"):
                        self.assertLessEqual(step["with"]["retention-days"], 7)

    def test_forks_get_neither_root_nor_a_token_that_writes(self):
        same = "github.event.pull_request.head.repo.full_name == github.repository"
        jobs = read(CI / "github/lockstep.yml")["jobs"]
        self.assertEqual(jobs["trial"]["if"], same)
        # A condition of two parts, both of which must hold.
        self.assertEqual(jobs["plan"]["if"], "vars.LOCKSTEP_SERVER != '' && " + same)
        [comment] = [one for one in jobs["check"]["steps"] if "GITHUB_TOKEN" in one.get("env", {})]
        self.assertIn(same, comment["if"])

    def test_secrets_are_given_to_the_step_that_needs_them(self):
        given = {}
        for file in WORKFLOWS:
            document = read(file)
            self.assertNotIn("secrets.", json.dumps([document.get("env"), [job.get("env") for job in document["jobs"].values()]]))
            for job in document["jobs"].values():
                for step in job["steps"]:
                    given |= {name: step["run"] for name, text in step.get("env", {}).items() if "secrets." in text}
        self.assertEqual(given, {"LOCKSTEP_TOKEN": "ci/plan.sh"})

    def test_jobs_of_gitlab_end_and_their_artifacts_too(self):
        for name, job in read(PIPELINE).items():
            if name in WITHOUT_JOBS or name.startswith("."):
                continue
            self.assertRegex(job["timeout"], r"^[123]0 minutes|^15 minutes")
            self.assertEqual(job["artifacts"]["expire_in"], "7 days", name)
            self.assertEqual(job["artifacts"]["when"], "always", name)


class Official(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.modules = official.fetch(SCHEMAS)
        except official.Unavailable as why:
            skipped.append(str(why))
            raise unittest.SkipTest(str(why)) from why

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-ci-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_githubs_parser_accepts_the_workflows(self):
        for file in WORKFLOWS:
            self.assertEqual(official.wrong_in_workflow(self.modules, file), [])

    def test_githubs_parser_refuses_wrong_ones(self):
        text = WORKFLOWS[1].read_text(encoding="utf-8")
        for old, new in (("timeout-minutes", "timeout-minuets"), ("github.repository", "githubb.repository"),
                         ("needs: check", "needs: chek"), ("pull-requests: write", "pull-requests: wriet")):
            self.assertIn(old, text)
            (self.folder / "wrong.yml").write_text(text.replace(old, new), encoding="utf-8")
            self.assertNotEqual(official.wrong_in_workflow(self.modules, self.folder / "wrong.yml"), [], new)

    def test_gitlabs_schema_accepts_the_pipeline_and_refuses_wrong_ones(self):
        validator = jsonschema.Draft7Validator(official.gitlab_schema(self.modules))
        document = read(PIPELINE)
        self.assertEqual([one.message[:300] for one in validator.iter_errors(document)], [])
        for key, value in (("timeout", []), ("rules", [{"iff": "x"}]), ("artifacts", {"reports": {"junitt": "x"}})):
            wrong = json.loads(json.dumps(document))
            wrong["lockstep-trial"][key] = value
            self.assertFalse(validator.is_valid(wrong), key)

    def drift(self, example):
        """The reports of drift.sh in a repository with an example."""
        subprocess.run(["git", "init", "--quiet"], cwd=self.folder, check=True)
        shutil.copytree(SOURCES / "examples" / example, self.folder / "specs")
        done = subprocess.run([CI / "drift.sh"], cwd=self.folder, capture_output=True, text=True, check=False, env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LOCKSTEP": str(LOCKSTEP), "OUT": "out",
            "LOCKSTEP_STATE_DIR": str(self.folder / "state")})
        files = [self.folder / "out" / one for one in ("drift.sarif", "drift.xml", "codequality.json")]
        return done.returncode, files

    def test_reports_of_differences_are_valid(self):
        code, files = self.drift("one-host")
        self.assertEqual(code, 2)
        for file in files:
            self.assertEqual(reports.wrong_in(self.modules, file), [], file.name)

    def test_reports_of_unobserved_devices_are_valid(self):
        code, files = self.drift("rail-pod")
        self.assertEqual(code, 3)
        for file in files:
            self.assertEqual(reports.wrong_in(self.modules, file), [], file.name)

    def test_wrong_reports_are_refused(self):
        _, files = self.drift("one-host")
        for file, old, new in ((files[0], '"2.1.0"', '"2.2.0"'), (files[0], '"startLine": ', '"startLine": -'),
                               (files[1], "<failure ", "<failuer "), (files[2], '"major"', '"awful"')):
            text = file.read_text(encoding="utf-8")
            self.assertIn(old, text)
            wrong = self.folder / f"wrong{file.suffix}"
            wrong.write_text(text.replace(old, new), encoding="utf-8")
            self.assertNotEqual(reports.wrong_in(self.modules, wrong), [], f"{file.name} with {new}")


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1] + sys.argv[4:], exit=False)
    if skipped:
        print(f"not tested by the official schemas: {skipped[0]}")
    sys.exit(1 if not program.result.wasSuccessful() else 77 if skipped else 0)
