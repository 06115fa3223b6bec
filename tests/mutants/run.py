#!/usr/bin/python3
"""run.py BUILD [--only N...] [--resume] [--jobs N]: which seeded defects the tests detect.

For each defect of BUILD/mutants.json (generate.py), runs the unit tests of model, engine, session and service and 30
simulated seeds of each kind, until one fails. A defect that passes them all survives: a test is missing, or it is no defect.
Exit code 1: a defect of seeded.py survived, or more than a tenth of the generated ones. Results so far are in
BUILD/mutant-results.jsonl; --resume continues from there.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

SUITES = {  # the faster ones first
    "unit_model": ["unit_model", "--gtest_fail_fast"],
    "unit_engine": ["unit_engine", "--gtest_fail_fast"],
    "simulate": ["simulate", "--seed", "1", "--seeds", "30", "--devices", "12-24"],
    "simulate --others": ["simulate", "--seed", "1", "--seeds", "30", "--devices", "12-24", "--others"],
    "unit_session": ["unit_session", "--gtest_fail_fast"],
    "unit_service": ["unit_service", "--gtest_fail_fast"],
    "simulate_service": ["simulate_service", "--from", "1", "--seeds", "30"],
}
LEAST_GENERATED = 100
LEAST_KILLED = 0.9
NO_DEFECT = 0
TIME_LIMIT = "time limit"


class Limits:
    """Of one suite, in CPU time: three times its duration without a defect, plus 20 s. The limit in wall time is
    higher, as others may use the machine."""

    def __init__(self, cpu=1800.0, clock=1800.0):
        self.cpu, self.clock = 3 * cpu + 20, 10 * clock + 60


def run_suite(build, suite, number, limits):
    """Returns why it failed, briefly (None: it passed), and its duration in CPU and wall seconds."""
    command = [str(build / "bin" / SUITES[suite][0]), *SUITES[suite][1:]]
    cpu = math.ceil(limits.cpu)
    with tempfile.TemporaryDirectory(prefix="lockstep-mutant-") as scratch, tempfile.TemporaryFile() as output:
        environment = {**os.environ, "LOCKSTEP_MUTANT": str(number), "GTEST_BRIEF": "1", "TMPDIR": scratch,
                       "RC_PARAMS": "seed=12"}  # the same cases each time
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=scratch,
                                   start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu)))
        alarm = threading.Timer(limits.clock, os.killpg, (process.pid, signal.SIGXCPU))
        alarm.start()
        _, status, usage = os.wait4(process.pid, 0)
        alarm.cancel()
        try:
            os.killpg(process.pid, signal.SIGKILL)  # its child processes
        except ProcessLookupError:
            pass
        process.returncode = code = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return why_failed(code, text), usage.ru_utime + usage.ru_stime, time.monotonic() - began


def why_failed(code, text):
    if code == 0:
        return None
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return TIME_LIMIT
    failed = re.search(r"\[  FAILED  \] (\w+\.\w+)", text)
    if failed:
        return failed.group(1)
    if code < 0:
        return f"signal {-code}"
    lines = text.strip().splitlines()
    return lines[-1][:100] if lines else f"exit code {code}"


def examine(build, mutant, limits):
    of_service = mutant["file"].startswith("reconciler/service/")
    for suite in sorted(SUITES, key=lambda one: ("service" in one) != of_service):
        why, *_ = run_suite(build, suite, mutant["number"], limits[suite])
        if why is not None:
            return {**mutant, "by": suite, "why": why}
    return {**mutant, "by": None, "why": ""}


def time_limits(build):
    out = {}
    for suite in SUITES:
        why, cpu, clock = run_suite(build, suite, NO_DEFECT, Limits())
        if why is not None:
            sys.exit(f"without a defect, {suite} fails: {why}")
        out[suite] = Limits(cpu, clock)
        print(f"{suite}: {cpu:.1f} s without a defect; the limit is {out[suite].cpu:.0f} s", flush=True)
    return out


def line_of(one):
    fate = f"{one['by']}: {one['why']}" if one["by"] else "SURVIVED"
    return f"{one['number']:4} {one['file']}:{one['line']}: {one['kind']}: {one['what'][:120]}\n       {fate}"


def summary(results):
    """Prints the summary. Returns True if enough defects were killed."""
    good = True
    for name, of_kind in (("seeded", [one for one in results if one["kind"] == "seeded"]),
                          ("generated", [one for one in results if one["kind"] != "seeded"])):
        if not of_kind:
            continue
        killed = [one for one in of_kind if one["by"]]
        share = len(killed) / len(of_kind)
        by = ", ".join(f"{sum(one['by'] == suite for one in killed)} by {suite}" for suite in SUITES)
        late = sum(one["why"] == TIME_LIMIT for one in killed)
        print(f"{name}: {len(killed)} of {len(of_kind)} killed ({share:.1%}): {by}; {late} of them by a time limit")
        good = good and share >= (1 if name == "seeded" else LEAST_KILLED)
    survivors = [one for one in results if not one["by"]]
    if survivors:
        print("survivors:")
    for one in survivors:
        print(f"{one['number']:4} {one['file']}:{one['line']}: {one['kind']}: {one['what']}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", type=int, nargs="+", metavar="N")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    choice = parser.parse_args()
    build = choice.build.resolve()
    mutants = json.loads((build / "mutants.json").read_text())
    if sum(one["kind"] != "seeded" for one in mutants) < LEAST_GENERATED:
        sys.exit(f"fewer than {LEAST_GENERATED} mutants were generated")
    record = build / "mutant-results.jsonl"
    known = {}
    if choice.resume and record.exists():
        known = {one["number"]: one for one in map(json.loads, record.read_text().splitlines())}
    if choice.only:
        mutants = [one for one in mutants if one["number"] in choice.only]
    results = [known[one["number"]] for one in mutants if one["number"] in known]
    limits = time_limits(build)
    with record.open("a" if choice.resume or choice.only else "w") as log, \
            concurrent.futures.ThreadPoolExecutor(choice.jobs) as pool:
        waiting = [pool.submit(examine, build, one, limits) for one in mutants if one["number"] not in known]
        for one in concurrent.futures.as_completed(waiting):
            results.append(one.result())
            print(line_of(results[-1]), flush=True)
            log.write(json.dumps(results[-1]) + "\n")
            log.flush()
    return 0 if summary(sorted(results, key=lambda one: one["number"])) else 1


if __name__ == "__main__":
    sys.exit(main())
