#!/usr/bin/env python3
"""What libimbrex_sessions.so adds to an 8 B message: cost_job plain and in each mode, interleaved and repeated.

Usage: cost.py --library build/default/lib/libimbrex_sessions.so --job build/default/bin/sessions_cost_openmpi \
    --mpirun mpirun.openmpi [--repeats 15] [--json FILE]"""

import argparse
import json
import os
import statistics
import subprocess

CASES = {
    "plain": None,
    "idle": "",
    "count": "count",
    "elide": "elide",
    "count,elide": "count,elide",
}


def median_ns(args, what, modes):
    words = [args.mpirun, "-n", "2" if what == "pingpong" else "1"]
    if modes is not None:
        words += ["env", f"LD_PRELOAD={os.path.abspath(args.library)}", f"IMBREX_SESSIONS={modes}",
                  "IMBREX_SESSIONS_TABLE=none"]
        words += ["IMBREX_SESSIONS_PATTERN=MPI_CPU_TO_CPU"] if "elide" in modes else []
    done = subprocess.run(words + [args.job, what], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--job", required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json")
    args = parser.parse_args()
    results = {}
    for what in ("calls", "pingpong"):
        runs = {case: [] for case in CASES}
        for _ in range(args.repeats):
            for case, modes in CASES.items():
                runs[case].append(median_ns(args, what, modes))
        results[what] = runs
        print(f"{what}: 8 B, ns of one Send and one Recv; median of {args.repeats} runs (quartiles)")
        plain = statistics.median(runs["plain"])
        for case, ns in runs.items():
            low, middle, high = statistics.quantiles(ns, n=4)
            paired = statistics.median(x - p for x, p in zip(ns, runs["plain"]))
            print(f"  {case:12} {middle:9.2f} ({low:.2f} to {high:.2f})  added {middle - plain:+7.2f}, "
                  f"pairwise {paired:+7.2f}, least against least {min(ns) - min(runs['plain']):+7.2f}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)


if __name__ == "__main__":
    main()
