#!/usr/bin/env python3
"""Runs uts as users do and checks what they rely on.

  uts_test.py GROUP --bin FOLDER [--mpirun COMMAND...]

Groups: serial, chares, loopback, mpi, files, bad_input. Exit status 0 when all is well.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

FAILURES = []
T1 = {"nodes": 4130071, "leaves": 3305118, "depth": 10}
T3 = {"nodes": 4112897, "leaves": 3599034, "depth": 1572}
SMALL = "-t 0 -b 300 -q 0.12 -m 8 -r 5".split()


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def run(words, code=0):
    done = subprocess.run(words, capture_output=True, text=True, timeout=250)
    expect(done.returncode == code, f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


class programs:
    def __init__(self, folder, mpirun):
        self.uts = os.path.join(folder, "uts")
        self.mpirun = mpirun

    def ranks(self, *words):
        return [*self.mpirun, "-n", "2", self.uts, *words]


def check(words, expected=None, pes=None):
    """One verified run; its report, whose counts are compared with the expected ones too."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        if run([*words, "--verify", "--report", path]).returncode != 0:
            return {}
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
    line = " ".join(words)
    expect(report["verified"], f"{line}: not verified")
    for name, value in (expected or {}).items():
        expect(report[name] == value, f"{line}: {name} {report[name]}, expected {value}")
    if report["impl"] == "chares":
        for name in ("nodes", "chares"):
            shares = report[f"{name}_of_pe"]["pes"]
            expect(sum(shares) == report[name], f"{line}: shares of {name} {shares} of {report[name]}")
            expect(pes is None or len(shares) == pes, f"{line}: {len(shares)} PEs, expected {pes}")
    return report


def serial(p):
    check([p.uts, "--tree", "T1", "--impl", "serial"], T1)
    check([p.uts, *"-t 0 -b 2000 -q 0.124875 -m 8 -r 42 --impl serial --repeats 2".split()], T3)


def chares(p):
    check([p.uts, "--tree", "T1", "--imbrex-pes=2"], T1, 2)
    every_node = check([p.uts, "--tree", "T3", "--imbrex-pes=2", "--grain", "1", "--split", "0"], T3, 2)
    expect(every_node.get("chares") == T3["nodes"], f"grain 1 makes {every_node.get('chares')} chares")
    for tree in ("T2", "T4", "T5"):
        check([p.uts, "--tree", tree, "--imbrex-pes=3", "--grain", "1000", "--split", "4"], None, 3)
    for seed in ("1", "2"):
        for order in ("deep", "arrival"):
            check([p.uts, *SMALL, "--grain", "3", "--order", order, "--imbrex-pes=3", f"--imbrex-schedule-seed={seed}"])
    one = check([p.uts, *SMALL, "--grain", "1000000", "--imbrex-pes=2"])
    expect(one.get("chares") == 1, "a large grain leaves all to one chare")
    done = run([p.uts, *SMALL, "--compare", "--repeats", "3", "--imbrex-pes=2"])
    expect("parallel efficiency" in done.stdout and "median of 3" in done.stdout, f"--compare prints {done.stdout}")


def loopback(p):
    for more in ("--grain=1", "--grain=10 --split=0", "--imbrex-loopback-delay-us=50 --imbrex-loopback-reorder"):
        check([p.uts, *SMALL, "--imbrex-ranks=3", "--imbrex-pes=2", "--repeats=2", *more.split()], None, 6)
    check([p.uts, "--tree", "T1", "--imbrex-ranks=2", "--imbrex-pes=1"], T1, 2)


def mpi(p):
    report = check(p.ranks("--tree", "T1", "--imbrex-pes=1"), T1, 2)
    expect(report.get("ranks") == 2, f"{report.get('ranks')} ranks")
    check(p.ranks(*SMALL, "--grain", "2", "--imbrex-pes=1", "--compare"), None, 2)


def files(p):
    with tempfile.TemporaryDirectory() as folder:
        done = run([p.uts, *SMALL, "--report", os.path.join(folder, "no", "report.json")], 2)
        expect("cannot write" in done.stderr and "give a path" in done.stderr, done.stderr)
        expect(os.listdir(folder) == [], f"left behind: {os.listdir(folder)}")
    expect(run([p.uts, *SMALL, "--quiet"]).stdout == "", "--quiet prints")
    expect("T3L" in run([p.uts, "--help"]).stdout, "--help lists the trees")


def bad_input(p):
    for words, text in {
        "--tree T9": "use one of T1",
        "--grain 0": "use at least 1",
        "--grain x": "--grain: x is no number that can be used",
        "-r -1": "-r: -1 is no number that can be used",
        "-t 0 -q 0.6 -m 2": "no end",
        "--impl serial --compare": "leave it out",
        "--impl serial --imbrex-ranks 2": "--imbrex-ranks needs the runtime",
        "--nonsense": "see uts --help",
    }.items():
        done = run([p.uts, *words.split()], 2)
        expect(text in done.stderr and done.stderr.startswith("uts: "), f"{words}: {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    groups = {f.__name__: f for f in (serial, chares, loopback, mpi, files, bad_input)}
    parser.add_argument("group", choices=groups)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--mpirun", nargs=argparse.REMAINDER, default=["mpirun"])
    arguments = parser.parse_args()
    groups[arguments.group](programs(arguments.bin, arguments.mpirun))
    for failure in FAILURES:
        print(failure)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
