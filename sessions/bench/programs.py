#!/usr/bin/env python3
r"""What looking at every buffer costs real MPI programs, and what eliding leaves: several programs in turns, several modes in turns.

A round of a program is one run in each mode, in an order that rotates, and a plain run twice: the second one's ratio to the
first says how far the program differs from itself. Programs take turns, round by round. Times are from the end of MPI_Init to
the beginning of MPI_Finalize on the slowest rank. What a program computes must be the same in every mode, else the exit code
is 1. Every run is kept in OUTPUT/runs.jsonl when it is there: started again, it goes on. OUTPUT/programs.json and table.md have
the medians and ranges. The plan, JSON, says what to run: see programs_plan.py and paper_programs.json.

  sessions/bench/programs.py --library LIB --mpirun "mpirun --bind-to core" --ranks 27 --bin FOLDER \
    --plan sessions/bench/paper_programs.json --output out/programs
"""
import argparse
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from programs_plan import PlanError, read_plan, run_program  # noqa: E402
from programs_table import summary_of, table  # noqa: E402
from session_run import RunError, Start, need_driver  # noqa: E402

CASES = {"plain": ("time", ""), "again": ("time", ""), "counted": ("count", ""), "injected": ("inject", ""), "elided": ("inject,elide", ""),
         "declared": ("inject,elide", "MPI_CPU_TO_CPU")}
TITLES = {"plain": "plain", "again": "plain again", "counted": "counted", "injected": "every buffer is looked at", "elided": "elided",
          "declared": "declared and elided"}


class Kept:
    """The lines of runs.jsonl: a run, or how many steps a program was given."""

    def __init__(self, path):
        self.path, self.runs, self.steps = path, {}, {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                self.take(json.loads(line))
            except ValueError:
                continue  # the last line of a run that was killed

    def take(self, entry):
        if "case" in entry:
            self.runs.setdefault(entry["program"], {}).setdefault(entry["round"], {})[entry["case"]] = entry
        else:
            self.steps[entry["program"]] = entry["steps"]

    def add(self, entry):
        self.take(entry)
        with self.path.open("a", encoding="utf-8") as f:
            f.write(json.dumps(entry) + "\n")

    def rounds(self, name):
        return [r for _, r in sorted(self.runs.get(name, {}).items())]


def entry_of(program, number, case, report, results):
    total = report["total"]
    entry = {"program": program.name, "round": number, "case": case, "seconds": report["seconds"], "results": results,
             "mpi": report["mpi"], "date": time.strftime("%Y-%m-%dT%H:%M:%S")}
    entry |= {key: total[key] for key in ("calls", "checks", "injected", "declared", "cached", "host", "driver", "query_ns")}
    reasons = sorted({r["incomplete_because"] for r in report["per_rank"] if r.get("incomplete_because")})
    if reasons:
        entry["incomplete_because"] = reasons
    if case == "counted":
        entry["routines"] = {r["name"]: {"calls": r["calls"], "checks": r["checks"]} for r in report["routines"]}
    return entry


class Session:
    """Runs the programs of a plan in turns and keeps what they gave."""

    def __init__(self, o):
        self.start = Start(str(pathlib.Path(o.library).resolve()), o.mpirun, o.ranks, o.delay_ns, o.timeout)
        self.places = {"bin": pathlib.Path(o.bin).resolve(), "ranks": o.ranks, "side": round(o.ranks ** (1 / 3))}
        self.cases, self.rounds, self.seconds = o.cases, o.rounds, o.seconds
        self.ends = time.monotonic() + 60 * o.minutes if o.minutes else float("inf")
        self.kept = Kept(pathlib.Path(o.output) / "runs.jsonl")
        self.failed, self.longest, self.stopped = {}, 0.0, False

    def steps_of(self, program):
        """So many that a plain run takes about as long as it is to take; they stay for all further runs."""
        if program.steps is None or (self.seconds is None and program.name not in self.kept.steps):
            return program.steps
        if program.name not in self.kept.steps:
            steps = program.steps
            for _ in range(2):  # the first time is much of it what comes before the steps
                report, _results = run_program(self.start, program, self.places, steps, "time")
                steps = max(1, round(steps * min(100.0, self.seconds / report["seconds"])))
            self.kept.add({"program": program.name, "steps": steps})
        return self.kept.steps[program.name]

    def round(self, program, number):
        steps = self.steps_of(program)
        there = self.kept.runs.get(program.name, {}).get(number, {})
        first = number % len(self.cases)
        for case in self.cases[first:] + self.cases[:first]:
            if case in there:
                continue
            modes, pattern = CASES[case]
            report, results = run_program(self.start, program, self.places, steps, modes, pattern)
            if "inject" in modes:
                need_driver(self.start, report)
            self.kept.add(entry_of(program, number, case, report, results))

    def is_there(self, program, number):
        return all(case in self.kept.runs.get(program.name, {}).get(number, {}) for case in self.cases)

    def run(self, programs):
        for number in range(self.rounds):
            for program in programs:
                if program.name in self.failed or self.is_there(program, number):
                    continue
                if time.monotonic() + self.longest > self.ends:
                    self.stopped = True
                    return
                began = time.monotonic()
                try:
                    self.round(program, number)
                    word = "done"
                except RunError as e:
                    self.failed[program.name] = word = str(e)
                took = time.monotonic() - began
                self.longest = max(self.longest, took)
                print(f"round {number + 1} of {self.rounds}, {program.name}: {word}, {took:.1f} s", file=sys.stderr, flush=True)


def write(session, programs, o):
    """The JSON and the table; gives the names of programs whose results differ."""
    summaries = {p.name: summary_of(session.kept.rounds(p.name), session.cases, o.ranks) for p in programs if session.kept.rounds(p.name)}
    for p in programs:
        if p.name in summaries:
            summaries[p.name] |= {"command": p.command, "steps": session.kept.steps.get(p.name, p.steps)}
    folder = pathlib.Path(o.output)
    mpis = sorted({e["mpi"] for p in programs for r in session.kept.rounds(p.name) for e in r.values()})
    whole = {"imbrex_session_programs": 1, "date": time.strftime("%Y-%m-%d"), "ranks": o.ranks, "mpi": mpis, "mpirun": o.mpirun,
             "delay_ns": o.delay_ns, "cases": session.cases, "failed": session.failed, "programs": summaries}
    (folder / "programs.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    text = table(summaries, session.cases, TITLES)
    (folder / "table.md").write_text(text, encoding="utf-8")
    print(text, end="")
    return [name for name, s in summaries.items() if len(s["results"]) > 1]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libimbrex_sessions.so")
    parser.add_argument("--plan", required=True, help="JSON: the programs")
    parser.add_argument("--bin", default=".", help="{bin} of the plan (default: this folder)")
    parser.add_argument("--mpirun", default="mpirun", help="what starts ranks, -n follows")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--output", default="out/programs", help="folder (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="(default: %(default)s)")
    parser.add_argument("--minutes", type=float, help="begin no round that would end later, as far as the first one tells")
    parser.add_argument("--seconds", type=float, help="choose {steps} so that a plain run takes about so long (default: as the plan says)")
    parser.add_argument("--cases", default=",".join(CASES), help="(default: %(default)s)")
    parser.add_argument("--only", help="a regular expression for names of the plan")
    parser.add_argument("--delay-ns", type=int, help="a delay in the driver's place")
    parser.add_argument("--timeout", type=float, default=600, help="seconds that one run may take (default: %(default)s)")
    o = parser.parse_args()
    o.cases = o.cases.split(",")
    for case in o.cases:
        if case not in CASES:
            raise PlanError(f"--cases {case}: give some of {', '.join(CASES)}")
    if "plain" not in o.cases:
        raise PlanError("--cases without plain: the others are compared with it")
    if o.rounds < 1 or o.ranks < 1:
        raise PlanError(f"--rounds {o.rounds} --ranks {o.ranks}: at least one of each")
    return o


def main():
    o = arguments()
    programs = read_plan(o.plan)
    if o.only:
        programs = [p for p in programs if re.search(o.only, p.name)]
        if not programs:
            raise PlanError(f"--only {o.only}: no name of {o.plan} matches")
    pathlib.Path(o.output).mkdir(parents=True, exist_ok=True)
    session = Session(o)
    try:
        session.run(programs)
    finally:  # also of what there is when it is interrupted
        different = write(session, programs, o)
    for name in different:
        print(f"programs.py: {name}: its results differ between runs", file=sys.stderr)
    if session.stopped:
        print(f"programs.py: stopped by --minutes {o.minutes:g}; start it again to go on", file=sys.stderr)
    return 1 if different or session.failed else 0


try:
    sys.exit(main())
except PlanError as e:
    print(f"programs.py: {e}", file=sys.stderr)
    sys.exit(2)
