#!/usr/bin/env python3
"""Runs the commands in the ```sh blocks of README.md and docs/*.md, so that the documentation shows only commands that work.

A block runs line by line, in a temporary folder with a copy of examples/ and with its own HOME; all blocks of a page share the
folder. A line must exit with status 0, or with the one that its comment states: `# exit code 2`. Such a block may contain only
commands that need neither root nor a device. A block that needs more is preceded by a comment, `<!-- needs: twin -->` or
`<!-- needs: root -->`, and does not run. In all blocks, commands and options must exist in `lockstep --help`.
Usage: check_commands.py LOCKSTEP SOURCES
"""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

binary, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
SAFE = {"validate", "topology", "explain", "render", "diff", "schema", "completion", "version", "--version", "--help"}
SAFE_TOOLS = {"cd", "cp", "mkdir", "sed", "source"}
NEEDS = {"twin", "root"}
failures = []


def blocks(page):
    """Yields each ```sh block as (what it needs or "", [(line number, command)]); joins continued lines."""
    before, commands, needs, number = "", None, "", 0
    for line_number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if commands is None and line.strip() == "```sh":
            marked = re.fullmatch(r"<!-- needs: (\w+) -->", before.strip())
            commands, needs, held = [], marked[1] if marked else "", ""
        elif commands is not None and line.strip() == "```":
            yield needs, commands
            commands = None
        elif commands is not None:
            number = number if held else line_number
            held += line.strip()
            if held.endswith("\\"):
                held = held[:-1]
            else:
                if held and not held.startswith("#"):
                    commands.append((number, held))
                held = ""
        before = line


def without_comment(command):
    return re.sub(r"(^|\s+)#\s.*", "", command)


def lockstep_commands(command):
    """Yields the arguments of each call of lockstep in a line."""
    for part in re.split(r"[;|&]+\s*", without_comment(command)):
        words = part.split()
        while words and (words[0] == "sudo" or re.match(r"\w+=", words[0])):
            words = words[1:]
        if words and words[0] == "lockstep":
            yield words[1:]


@functools.cache
def help_of(*words):
    asked = subprocess.run([binary, *words, "--help"], capture_output=True, text=True, check=False)
    return asked.stdout if asked.returncode == 0 else None


def check_words(where, words):
    named = [word for word in words[:1] if not word.startswith("-")]
    if named and "\nSubcommands:" in (help_of(*named) or ""):
        named = words[:2]
    text = help_of(*named)
    if text is None:
        failures.append(f"{where}: there is no command `lockstep {' '.join(named)}`")
        return
    for word in words[len(named):]:
        if word == "--":  # the rest are arguments of another program
            break
        option = re.match(r"--?[a-z][a-z-]*", word)
        if option and not re.search(rf"(^|[\s,]){re.escape(option[0])}(?![a-z-])", text, re.MULTILINE):
            failures.append(f"{where}: `lockstep {' '.join(named)}` has no option {option[0]}")


def look_up(where, command):
    """Returns whether the commands, options and scripts of the line exist."""
    before = len(failures)
    for words in lockstep_commands(command):
        check_words(where, words)
    program = without_comment(command).split()[0]
    if re.match(r"(\./)?(examples|tests|docs|cmake)/", program) and not (root / program).is_file():
        failures.append(f"{where}: there is no {program}")
    return len(failures) == before


def may_run(command):
    first = without_comment(command).split()[0]
    return first in SAFE_TOOLS or (first == "lockstep" and all(words and words[0] in SAFE for words in lockstep_commands(command)))


def run(where, command, folder, home):
    """Runs one line in `folder`; returns the working directory for the next line."""
    stated = re.search(r"#.*\bexit code (\d+)", command)
    wanted = int(stated[1]) if stated else 0
    environment = {"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
    script = f"set -o pipefail\n{command}\nstatus=$?\npwd >{home}/pwd\nexit $status\n"
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode != wanted:
        failures.append(f"{where}: `{command}` ended with {done.returncode} instead of {wanted}:\n" + done.stdout[-2000:])
    return pathlib.Path((home / "pwd").read_text(encoding="utf-8").strip())


def check(page):
    ran = looked_up = 0
    with tempfile.TemporaryDirectory(prefix="lockstep-docs-") as work:
        home = pathlib.Path(work, "home")
        (home / "bin").mkdir(parents=True)
        (home / "bin/lockstep").symlink_to(binary)
        shutil.copytree(root / "examples", pathlib.Path(work, "examples"))
        folder = pathlib.Path(work)
        for needs, commands in blocks(page):
            for number, command in commands:
                where = f"{page.relative_to(root)}:{number}"
                if not look_up(where, command):
                    continue
                if needs in NEEDS:
                    looked_up += 1
                elif needs or not may_run(command):
                    failures.append(f"{where}: `{command}` needs a mark before its block: " + ", ".join(sorted(NEEDS)))
                else:
                    folder = run(where, command, folder, home)
                    ran += 1
    return ran, looked_up


counts = [check(page) for page in pages]
ran, looked_up = (sum(each) for each in zip(*counts))
print("\n".join(failures) if failures else f"{ran} commands ran, {looked_up} were looked up in the help")
sys.exit(1 if failures or not ran or not looked_up else 0)
