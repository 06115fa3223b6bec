"""For test scripts in Python: a demand that is not met ends the script."""
import subprocess
import sys
import time


def demand(holds, *words):
    if not holds:
        print("FAILED:", *words, file=sys.stderr, flush=True)
        sys.exit(1)


def step(*words, began=time.monotonic()):
    print(f"--- {time.monotonic() - began:.1f} s:", *words, flush=True)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    demand(done.returncode == 0, " ".join(command), "ended with", done.returncode, done.stdout, done.stderr)
    return done.stdout


def until(seconds, what, holds, pause=0.02):
    end = time.monotonic() + seconds
    while not holds():
        demand(time.monotonic() < end, "not within", seconds, "s:", what() if callable(what) else what)
        time.sleep(pause)
