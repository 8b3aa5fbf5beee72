#!/usr/bin/env python3
"""An exit and a failure at the same time: the ranks end alike, and no reported failure ends with exit code 0.

  end_race_test.py TRANSPORT RANKS --job END_RACE_JOB --mpirun COMMAND...
"""
import os
import re
import subprocess
import sys
import tempfile

REPEATS = 4
LIMIT_S = 60

transport, ranks = sys.argv[1], int(sys.argv[2])
job = sys.argv[sys.argv.index("--job") + 1]
mpirun = sys.argv[sys.argv.index("--mpirun") + 1:]


def run(how, folder):
    words = [*mpirun, "-n", str(ranks), job, how, "--imbrex-pes=2", "--imbrex-pin=off",
             f"--imbrex-transport={transport}", f"--imbrex-trace={folder}/trace.json", "--imbrex-task-policy=shortest_finish",
             f"--imbrex-task-costs={folder}/costs.json"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        return f"still there after {LIMIT_S} s\n{late.stdout}\n{late.stderr}"
    ends = re.findall(r"rank (\d+) ended with (\d+)", done.stdout)
    codes = {code for _, code in ends}
    expected = "70" if "boom" in done.stderr else "0"
    if how == "same" and expected != "70":
        return f"the failure was not reported\n{done.stderr}"
    if len(ends) != ranks or codes != {expected}:
        return f"ended with {ends}, expected {expected} on all {ranks} ranks\n{done.stdout}{done.stderr}"
    return ""


with tempfile.TemporaryDirectory() as folder:
    wrong = 0
    for how in ("same", "beside", "half"):
        for repeat in range(REPEATS):
            if error := run(how, folder):
                print(f"{how}, repeat {repeat}: {error}")
                wrong += 1
                break
    sys.exit(1 if wrong else 0)
