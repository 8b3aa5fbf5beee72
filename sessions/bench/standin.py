#!/usr/bin/env python3
r"""What looking at every buffer costs a program, one round: plain, with a query for each buffer, and with those elided.

The program is run three times by libimbrex_sessions.so (modes time, inject, and inject,elide), in an order that --turn
rotates; times are from the end of MPI_Init to the beginning of MPI_Finalize on the slowest rank. `imbrex figures` calls it once
for each point and repetition (m21-fig6, -fig8, -fig10, -fig12); `imbrex mpi-check` makes whole tables of one program.

  sessions/bench/standin.py --library LIB --mpirun "mpirun --bind-to core" --ranks 27 --json out.json \
    --program "./program arguments"
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

MODES = {"plain": "time", "injected": "inject", "elided": "inject,elide"}


def fail(text):
    print(f"standin.py: {text}", file=sys.stderr)
    sys.exit(1)


def run(o, modes, folder):
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    variables = {"LD_PRELOAD": o.library, "IMBREX_SESSIONS": modes, "IMBREX_SESSIONS_OUTPUT": str(report),
                 "IMBREX_SESSIONS_TABLE": "none"}
    if o.delay_ns is not None:
        variables["IMBREX_SESSIONS_DELAY_NS"] = str(o.delay_ns)
    command = [*shlex.split(o.mpirun), "-n", str(o.ranks), "env", *(f"{k}={v}" for k, v in variables.items()), *o.command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        fail(f"exit code {done.returncode} in the modes {modes}: {(done.stderr or done.stdout).strip()[-400:]}")
    if not report.exists():
        fail(f"no report in the modes {modes}: does {o.command[0]} call MPI_Init and MPI_Finalize, and is it not static?")
    return json.loads(report.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libimbrex_sessions.so")
    parser.add_argument("--mpirun", default="mpirun", help="what starts ranks, -n follows")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--delay-ns", type=int, help="a delay in the driver's place")
    parser.add_argument("--turn", type=int, help="which of the three runs is first (default: by chance)")
    parser.add_argument("--json", required=True, help="file for the result")
    parser.add_argument("--program", required=True, help="the program and its arguments, as one word")
    o = parser.parse_args()
    o.command = shlex.split(o.program)
    names = list(MODES)
    first = (os.getpid() if o.turn is None else o.turn) % len(names)
    reports = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names[first:] + names[:first]:
            reports[name] = run(o, MODES[name], pathlib.Path(folder))
    checks = reports["injected"]["total"]["injected"]
    if o.delay_ns is None and not all(r["has_driver"] for r in reports["injected"]["per_rank"]):
        fail("the ranks have no driver to ask: give --delay-ns")
    seconds = {name: r["seconds"] for name, r in reports.items()}
    result = {
        "imbrex_sessions_standin": 1, "command": o.command, "mpi": reports["plain"]["mpi"], "ranks": o.ranks,
        "delay_ns": o.delay_ns, "order": names[first:] + names[:first], "seconds": seconds,
        "ratio": {name: seconds[name] / seconds["plain"] for name in names[1:]},
        "checks": checks, "checks_per_s": checks / seconds["plain"],
        "query_ns": reports["injected"]["total"]["query_ns"] / checks if checks else 0,
        "left_to_driver": reports["elided"]["total"]["driver"],
    }
    pathlib.Path(o.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
