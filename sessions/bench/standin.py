#!/usr/bin/env python3
r"""What looking at every buffer costs a program, one round: plain, with a query for each buffer, and with those elided.

The program is run three times by libimbrex_sessions.so (modes time, inject, and inject,elide), in an order that --turn
rotates; times are from the end of MPI_Init to the beginning of MPI_Finalize on the slowest rank. `imbrex figures` calls it once
for each point and repetition (m21-fig6, -fig8, -fig10, -fig12); `imbrex mpi-check` makes whole tables of one program,
programs.py compares several programs.

  sessions/bench/standin.py --library LIB --mpirun "mpirun --bind-to core" --ranks 27 --json out.json \
    --program "./program arguments"
"""
import argparse
import json
import os
import pathlib
import shlex
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from session_run import RunError, Start, need_driver, run  # noqa: E402

MODES = {"plain": "time", "injected": "inject", "elided": "inject,elide"}


def fail(text):
    print(f"standin.py: {text}", file=sys.stderr)
    sys.exit(1)


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
    start, reports = Start(o.library, o.mpirun, o.ranks, o.delay_ns), {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in names[first:] + names[:first]:
                reports[name], _ = run(start, o.command, MODES[name], folder)
        need_driver(start, reports["injected"])
    except RunError as e:
        fail(e)
    checks = reports["injected"]["total"]["injected"]
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
