#!/usr/bin/env python3
"""What asking the driver about every buffer adds to the paper's nine MPI routines, and what eliding returns.

  sessions/bench/micro.py --library build/default/lib/libimbrex_sessions.so \\
    --job build/default/bin/sessions_micro_openmpi --mpirun mpirun.openmpi --ranks 2,28,56 \\
    [--delay-ns 400] [--routines PingPong,Alltoall] [--sizes 0,1..4M] [--repeats 5] [--json FILE] [--picture FILE]

Runs sessions_micro_<mpi> in each case, one after the other, and that again and again. Cases:

  plain                    without the library; always among them
  MODES                    with it and these modes of IMBREX_SESSIONS, as inject or inject,elide; idle: without a mode
  MODES:declared           and all buffers declared by IMBREX_SESSIONS_PATTERN=MPI_CPU_TO_CPU

The overhead ratio of Figures 3 to 5 of the paper is t / t_plain, of the mean times over ranks of runs that follow each
other; its median, least and greatest over repeats are given for each routine and size. The injected queries go to the
CUDA driver, or are a delay (--delay-ns). Exit code 1 when received data was wrong, 2 for a wrong command line, 3 where a
picture is wanted and matplotlib is missing (all else is done before).
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile

import micro_plot

MODES = ("time", "count", "inject", "elide", "elide-verify", "stage")


def fail(code, message):
    print(f"micro.py: {message}", file=sys.stderr)
    raise SystemExit(code)


def settings_of(case, args, report):
    """The environment of the ranks in a case."""
    if case == "plain":
        return []
    modes, _, declared = case.partition(":")
    words = [f"LD_PRELOAD={os.path.abspath(args.library)}", f"IMBREX_SESSIONS={'' if modes == 'idle' else modes}",
             f"IMBREX_SESSIONS_OUTPUT={report}", "IMBREX_SESSIONS_TABLE=none"]
    words += ["IMBREX_SESSIONS_PATTERN=MPI_CPU_TO_CPU"] if declared else []
    words += [f"IMBREX_SESSIONS_DELAY_NS={args.delay_ns}"] if args.delay_ns is not None else []
    return words


def run_job(case, ranks, args, folder):
    """One run: (header, measurements, report or None)."""
    report = pathlib.Path(folder) / "report.json"
    report.unlink(missing_ok=True)
    command = [*shlex.split(args.mpirun), "-n", str(ranks), "env", *settings_of(case, args, report),
               os.path.abspath(args.job), "--repeats", str(args.repetitions), "--sizes", args.sizes]
    command += ["--routines", args.routines] if args.routines else []
    command += ["--sync"] if args.sync else []
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        fail(2, f"cannot start {command[0]}: {error.strerror}: give --mpirun")
    if done.returncode != 0:
        code = done.returncode if done.returncode in (1, 2) else 1
        fail(code, f"{case} with {ranks} ranks ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    sys.stderr.write(done.stderr)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines[0], lines[1:], json.loads(report.read_text()) if report.exists() else None


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "runs": values}


def queries_of(report):
    total = report["total"]
    return {"queries": total["queries"], "by_driver_or_delay": total["driver"], "declared": total["declared"],
            "cached": total["cached"], "host": total["host"], "query_ns": total["query_ns"],
            "has_driver": all(rank["has_driver"] for rank in report["per_rank"])}


def ratios(times, plain):
    """Of runs that follow each other; null where a time is too short to be seen."""
    found = [t / p for t, p in zip(times, plain) if p > 0]
    return spread(found) if found else None


def measure(ranks, cases, args, folder):
    """All runs with so many ranks: (header, points, queries by case)."""
    times, queries = {}, {}
    for _ in range(args.repeats):
        for case in cases:
            header, measurements, report = run_job(case, ranks, args, folder)
            if report is not None:
                queries[case] = queries_of(report)
            for m in measurements:
                times.setdefault((m["routine"], m["bytes"]), {}).setdefault(case, []).append(m["mean_us"])
    points = []
    for (routine, size), by_case in times.items():
        found = {case: {"mean_us": spread(us), "ratio": ratios(us, by_case["plain"])} for case, us in by_case.items()}
        points.append({"ranks": ranks, "routine": routine, "bytes": size, "cases": found})
    return header, points, queries


def print_table(points, cases):
    others = [case for case in cases if case != "plain"]
    print(f"{'ranks':>5} {'routine':10} {'bytes':>8} {'plain us':>12}" + "".join(f"  {case:>26}" for case in others))
    for p in points:
        line = f"{p['ranks']:5} {p['routine']:10} {p['bytes']:8} {p['cases']['plain']['mean_us']['median']:12.3f}"
        for case in others:
            r = p["cases"][case]["ratio"]
            text = f"{r['median']:.3f} ({r['min']:.3f} to {r['max']:.3f})" if r else "too short"
            line += f"  {text:>26}"
        print(line)
    print("ratios to plain: median (least to greatest) over repeats")


def cpu_model():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def command_without_folders():
    """What was typed, with the names of files alone."""
    words = [" ".join(os.path.basename(part) for part in word.split()) if "/" in word else word for word in sys.argv]
    return shlex.join(words)


def read_list(text, what, allowed):
    found = text.split(",")
    for word in found:
        if not allowed(word):
            fail(2, f"{what} {word or 'without a value'}: {allowed.__doc__}")
    return found


def is_rank_number(word):
    """give whole numbers of at least 2, as 2,28,56"""
    return word.isdigit() and int(word) >= 2


def check_case(case):
    modes, colon, declared = case.partition(":")
    known = modes in ("plain", "idle") or all(mode in MODES for mode in modes.split(","))
    if not known or (colon and declared != "declared") or (modes == "plain" and colon):
        fail(2, f"case {case}: give plain, idle or modes of {', '.join(MODES)}, as inject,elide, with :declared or without")
    return case


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--job", required=True, help="sessions_micro_<mpi>")
    parser.add_argument("--mpirun", required=True, help='with options, as "mpirun --bind-to core"')
    parser.add_argument("--ranks", default="2", help="a list (default: %(default)s)")
    parser.add_argument("--cases", nargs="+", default=["inject", "inject,elide", "inject,elide:declared"], metavar="CASE")
    parser.add_argument("--delay-ns", type=int, help="a query is this delay; otherwise the driver is asked")
    parser.add_argument("--routines", help="a list (default: all nine)")
    parser.add_argument("--sizes", default="0,1..4M", help="as 0,8,4K or 1..4M (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=1000, help="of small messages in a run (default: %(default)s)")
    parser.add_argument("--sync", action="store_true", help="a barrier before every repetition, not counted")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each case (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--picture", metavar="FILE", help="needs matplotlib")
    args = parser.parse_args()
    for name, least in (("repeats", 1), ("repetitions", 1), ("delay_ns", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            fail(2, f"--{name.replace('_', '-')} {value}: give a whole number of at least {least}")
    for path in (args.library, args.job):
        if not os.path.exists(path):
            fail(2, f"{path} does not exist: build imbrex_sessions and sessions_micro_<mpi>")
    args.cases = ["plain"] + [check_case(case) for case in args.cases if case != "plain"]
    args.ranks = [int(word) for word in read_list(args.ranks, "--ranks", is_rank_number)]
    return args


def warn_of_free_queries(queries, args):
    asked = [case for case in queries if "inject" in case and not queries[case]["has_driver"]]
    if asked and args.delay_ns is None:
        print("micro.py: no CUDA driver was found: injected queries cost nothing; give --delay-ns", file=sys.stderr)


def main():
    args = parse()
    result = {"imbrex_micro_ratios": 1, "cases": args.cases, "delay_ns": args.delay_ns, "repeats": args.repeats,
              "cpu": cpu_model(), "num_cpus": os.cpu_count(), "kernel": platform.release(),
              "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "command": command_without_folders(), "points": [], "queries": {}}
    with tempfile.TemporaryDirectory() as folder:
        for ranks in args.ranks:
            header, points, queries = measure(ranks, args.cases, args, folder)
            warn_of_free_queries(queries, args)
            result["mpi"] = header["mpi"]
            result["points"] += points
            result["queries"][str(ranks)] = queries
    print_table(result["points"], args.cases)
    if args.json:
        try:
            pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            fail(2, f"cannot write {args.json}: {error.strerror}")
    if args.picture:
        micro_plot.draw(result, args.picture)


if __name__ == "__main__":
    main()
