#!/usr/bin/env python3
"""imbrex doctor: what it says of this machine, and of machines where something is wrong.

  doctor_test.py --tool FILE
"""
import argparse
import json
import os
import stat
import subprocess
import sys
import tempfile

FAILURES = []


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def doctor(tool, *words, environment=None):
    return subprocess.run([tool, "doctor", *words], capture_output=True, text=True, timeout=280,
                          env={**os.environ, **(environment or {})})


def findings(done):
    try:
        return {f["what"]: f for f in json.loads(done.stdout)}
    except json.JSONDecodeError as e:
        FAILURES.append(f"no JSON: {e}\n{done.stdout}{done.stderr}")
        return {}


def with_mpirun(tool, script):
    """What is found where mpirun is this shell script."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mpirun")
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(path, stat.S_IRWXU)
        done = doctor(tool, "--json", environment={"PATH": f"{folder}:{os.environ['PATH']}"})
    return done, findings(done).get("a job of two processes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    tool = parser.parse_args().tool

    done = doctor(tool, "--json")
    found = findings(done)
    wrong = [f for f in found.values() if f["is"] == "wrong"]
    expect(found.get("a job", {}).get("is") == "works", f"the job on the host: {found.get('a job')}")
    expect(found.get("cores", {}).get("is") == "works", f"cores: {found.get('cores')}")
    expect(done.returncode == (1 if wrong else 0), f"exit {done.returncode}, though {len(wrong)} are wrong: {wrong}")
    expect(all(f["remedy"] for f in wrong), f"no remedy: {wrong}")
    text = doctor(tool)
    expect(all(word in text.stdout for word in ("this build", "this machine", "jobs", "a job")), text.stdout)

    if found.get("a job of two processes", {}).get("is") == "works":  # so it does where the doctor is a rank itself
        ranks = subprocess.run(["mpirun", "-n", "1", tool, "doctor", "--json"], capture_output=True, text=True, timeout=280)
        ranks = findings(ranks).get("a job of two processes")
        expect(ranks and ranks["is"] == "works", f"the doctor as a rank of mpirun: {ranks}")

    if "a job of two processes" in found:
        done, ranks = with_mpirun(tool, 'if [ "$1" = --version ]; then echo "mpirun (Other) 1"; exit 0; fi\n'
                                        'shift 2; "$@"\n')
        expect(ranks and ranks["is"] == "wrong" and "another MPI" in ranks["said"] and done.returncode == 1, f"{ranks}")
        done, ranks = with_mpirun(tool, 'echo "there are not enough slots"; exit 3\n')
        expect(ranks and ranks["is"] == "wrong" and "not enough slots" in ranks["said"], f"{ranks}")
        done, ranks = with_mpirun(tool, "exit 127\n")
        expect(ranks and "no mpirun" in ranks["said"] and "apt-get" in ranks["remedy"], f"{ranks}")

    for failure in FAILURES:
        print(failure, file=sys.stderr)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
