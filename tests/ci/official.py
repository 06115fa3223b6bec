"""The schemas of code hosts and report formats, from their authors, as packages of the npm registry: nothing of them is in this
repository. `fetch(FOLDER)` unpacks them; later calls use what is there. Each package is one version with its checksum, and none
of its scripts runs.

  GitHub workflows   @actions/workflow-parser (GitHub, MIT): the parser of GitHub's own editor, with its schema
  GitLab pipelines   gitlab-ci-local (MIT) has the schema of GitLab's editor (gitlab.com, app/assets/javascripts/editor/schema/ci.json)
  SARIF 2.1.0        @microsoft/jest-sarif (MIT) has the schema that OASIS published
  JUnit              mocha-junit-reporter (MIT) has that of Jenkins' xUnit plugin (MIT)
"""
import base64
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

PACKAGES = {
    "@actions/workflow-parser@0.3.61":
        "NBjJrbwwrEN3LSN0NAISLpCWQLcPSBjmAIkLXHgjGX8Yql4PiD33ifSAvr9sIMU9uIs8wZiGUnvo9yPIMIfKdg==",
    "@actions/expressions@0.3.61":
        "Ig+tXELvTjlqxQAWBQnLNn2dPpNraLMdSnT+vDzDPmJtbNUhIAH/Z9kVT8pZ8UtJi9vUGs8hwHE8JFJmbOnLEA==",
    "cronstrue@2.61.0": "ootN5bvXbIQI9rW94+QsXN5eROtXWwew6NkdGxIRpS/UFWRggL0G5Al7a9GTBFEsuvVhJ2K3CntIIVt7L2ILhA==",
    "yaml@2.9.1": "3NxN8+78OdzbT7C/WjGsyfPAtJaN3FNDsWxv7Y7mcDsT/oOmgW8BpyQQFFBnvZE3j9Y2Sdz1ULFLezL7Eb2yFw==",
    "gitlab-ci-local@4.64.1": "AMSJh3Ut/LaDrWv893+flnat8E9/2HBYginLQZMr43fHH6GprDgBd8ViPNjwkxDg6M5Tmk0RYLXG5ouajcs4Ww==",
    "@microsoft/jest-sarif@1.0.0-beta.0":
        "A1fOhPd6Ic5iDk4F9YPw1qNB4XF+7+IviR7xl8r2F6QzQkx5cpY9LsGk2rExiFIEcBbjpVnSmwWGBukASkiQ9A==",
    "mocha-junit-reporter@2.2.1": "iDn2tlKHn8Vh8o4nCzcUVW4q7iXp7cC4EB78N0cDHIobLymyHNwe0XG8HEHHjc3hJlXm0Vy6zcrxaIhnI2fWmw==",
}
# Node 20 and later import JSON with an attribute only (nodejs.org, "Import attributes"); the parser's files lack it.
JSON_IMPORT = re.compile(r'^(import .* from "[^"]+\.json");', re.MULTILINE)
JUDGE = """
import {parseWorkflow, NoOperationTraceWriter, convertWorkflowTemplate} from "@actions/workflow-parser";
import {readFileSync} from "node:fs";
const file = process.argv[2];
const parsed = parseWorkflow({name: file, content: readFileSync(file, "utf8")}, new NoOperationTraceWriter());
const wrong = new Set(parsed.context.errors.getErrors().map(one => one.message));
if (parsed.value)
  for (const one of (await convertWorkflowTemplate(parsed.context, parsed.value)).errors ?? []) wrong.add(one.Message);
for (const one of wrong) console.log(one);
"""


class Unavailable(Exception):
    pass


def version_of_node():
    try:
        said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
        subprocess.run(["npm", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as why:
        raise Unavailable("the official schemas are fetched with npm, and node reads them") from why
    return int(said[1:].split(".")[0])


def packed(name):
    """The archive of a package, from the registry."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(["npm", "pack", "--silent", "--pack-destination", folder, name], cwd=folder, capture_output=True,
                           check=True, timeout=120)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as why:
            raise Unavailable(f"the npm registry does not give {name}") from why
        data = next(pathlib.Path(folder).glob("*.tgz")).read_bytes()
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != PACKAGES[name]:
        raise SystemExit(f"{name} is not what it was: another checksum")
    return data


def fetch(folder):
    """The folder with the packages; raises Unavailable without npm, node 20 or the registry."""
    if version_of_node() < 20:
        raise Unavailable("GitHub's parser of workflows needs node 20")
    modules = pathlib.Path(folder) / "node_modules"
    done = pathlib.Path(folder) / "fetched.json"
    if done.is_file() and json.loads(done.read_text()) == PACKAGES:
        return modules
    shutil.rmtree(folder, ignore_errors=True)
    for name in PACKAGES:
        to = modules / name.rpartition("@")[0]
        with tarfile.open(fileobj=io.BytesIO(packed(name))) as archive:
            for member in archive.getmembers():
                path = pathlib.PurePosixPath(member.name)
                if not member.isfile() or ".." in path.parts or path.is_absolute():
                    continue
                file = to.joinpath(*path.parts[1:])
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.extractfile(member).read())
    for file in modules.glob("@actions/**/*.js"):
        file.write_text(JSON_IMPORT.sub(r'\1 with {type: "json"};', file.read_text(encoding="utf-8")), encoding="utf-8")
    (pathlib.Path(folder) / "judge.mjs").write_text(JUDGE, encoding="utf-8")
    done.write_text(json.dumps(PACKAGES), encoding="utf-8")
    return modules


def wrong_in_workflow(modules, file):
    """What GitHub's parser finds wrong in a workflow, one per line."""
    done = subprocess.run(["node", modules.parent / "judge.mjs", file], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.splitlines()


def gitlab_schema(modules):
    module = (modules / "gitlab-ci-local/src/schema/schema.js").as_uri()
    script = f'import("{module}").then(one => console.log(JSON.stringify(one.schema)))'
    return json.loads(subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout)


def sarif_schema(modules):
    return json.loads((modules / "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))


def wrong_in_junit(modules, file):
    """What xmllint finds wrong by the schema of Jenkins; empty: nothing."""
    schema = modules / "mocha-junit-reporter/test/resources/jenkins-junit.xsd"
    done = subprocess.run(["xmllint", "--nonet", "--noout", "--schema", schema, file], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr
