"""sessions/bench/programs.py with small programs: rounds in turns, what it keeps and goes on with, results that differ, and
plans that cannot be. Usage: programs_test.py programs --mpirun ... (see CMakeLists.txt)"""

import json
import os
import re
import shlex
import subprocess
import sys

from sessions_test import check, equal, main

CASES = ["plain", "again", "counted", "injected", "elided", "declared"]
STEPS = 20
# Ranks of halo2d exchange one border a step; reductions: a time step each and one more, sums at 10, 20, and the result's.
CHECKS = 2 * 2 * STEPS + 2 * 2 * (STEPS + 1) + 3 * (2 + 1)


class Programs:
    def __init__(self, r):
        self.r, self.plan, self.output = r, r.folder / "plan.json", r.folder / "out"
        self.script = str(r.args.sources / "sessions" / "bench" / "programs.py")

    def write(self, *entries):
        self.plan.write_text(json.dumps({"programs": list(entries)}))

    def run(self, *words, driver=False):
        folders = f"{self.r.args.driver}:" if driver else ""
        environment = {**os.environ, "LD_LIBRARY_PATH": folders + os.environ.get("LD_LIBRARY_PATH", ""), "FAKE_CUDA_DELAY_NS": "2000"}
        command = [sys.executable, "-B", self.script, "--library", self.r.args.library, "--mpirun", self.r.args.mpirun, "--ranks", "2",
                   "--bin", str(self.r.args.examples), "--plan", str(self.plan), "--output", str(self.output), *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200, check=False)

    def results(self):
        return json.loads((self.output / "programs.json").read_text())

    def lines(self):
        return [json.loads(line) for line in (self.output / "runs.jsonl").read_text().splitlines()]


def halo(r, **more):
    return {"name": "halo", "command": f"{{bin}}/sessions_halo2d_{r.args.mpi} --nx 8 --ny 8 --steps {{steps}}", "steps": STEPS,
            "same": "ranks.*verified", **more}


def particles(r, **more):
    """Its input is made by a shell and its results lie in a file; both are in the run's own folder."""
    words = f"--size 4 --particles $(cat input) --steps 2 --hops {{side}} > result-$$; [ ! -s result-$$ ] || mv result-$$ result"
    return {"name": "particles", "prepare": "echo 50 > input; ls > before; test $(wc -l < before) = 2",
            "command": f"sh -c {shlex.quote(f'{{bin}}/sessions_particles_{r.args.mpi} {words}')}", "result": "result", "same": "ranks.*verified", **more}


def check_rounds(r, p):
    p.write(halo(r), particles(r))
    done = p.run("--delay-ns", "2000", "--rounds", "2", "--cases", "plain,again,counted,injected,elided,declared")
    equal(done.returncode, 0, done.stderr)
    found = p.results()
    equal(([*found["programs"]], found["ranks"], found["failed"]), (["halo", "particles"], 2, {}), "programs")
    turns = [(e["program"], e["round"]) for e in p.lines() if e["case"] == "plain"]
    equal(turns, [("halo", 0), ("particles", 0), ("halo", 1), ("particles", 1)], "turns")
    equal([e["case"] for e in p.lines() if (e["program"], e["round"]) == ("halo", 1)], CASES[1:] + CASES[:1], "order of the second round")
    s = found["programs"]["halo"]
    equal((s["rounds"], s["checks"], s["looked_at"], len(s["results"])), (2, CHECKS, CHECKS, 1), "counts")
    equal(s["left_to_driver"], {"elided": 0, "declared": 0}, "looks that are left")
    check(1900 < s["look_ns"] and s["looks_part_of_run"] > 0, f"a look: {s['look_ns']}")
    runs = {e["case"]: e for e in p.lines() if (e["program"], e["round"]) == ("halo", 0)}
    equal((runs["declared"]["declared"], runs["elided"]["host"], runs["injected"]["driver"]), (CHECKS,) * 3, "who answered")
    equal(runs["counted"]["routines"]["MPI_Isend"]["checks"], 2 * STEPS, "sends")
    equal(s["ratio"]["elided"]["runs"][0], runs["elided"]["seconds"] / runs["plain"]["seconds"], "ratio")
    table = (p.output / "table.md").read_text()
    check(table in done.stdout and re.search(r"\| halo \|.*\| yes \|", table) and "| particles |" in table, table)


def check_going_on(r, p):
    """A call takes up what there is: what was cut off in the middle of a round too."""
    before = p.lines()
    kept = before[:9]
    (p.output / "runs.jsonl").write_text("".join(json.dumps(e) + "\n" for e in kept) + '{"program": "hal')
    done = p.run("--delay-ns", "2000", "--rounds", "1")
    equal(done.returncode, 0, done.stderr)
    lines = (p.output / "runs.jsonl").read_text().splitlines()
    equal([json.loads(line) for line in lines[:9]], kept, "runs of the first call")
    check("round 1 of 1, halo" not in done.stderr and "round 1 of 1, particles" in done.stderr, done.stderr)
    equal(p.results()["programs"]["particles"]["rounds"], 1, "the round is whole")


def check_length(r, p):
    """--seconds chooses the steps once, and they stay; --minutes begins no round that would end later."""
    (p.output / "runs.jsonl").unlink()
    p.write(halo(r))
    done = p.run("--delay-ns", "1", "--rounds", "1", "--seconds", "1", "--cases", "plain,elided")
    equal(done.returncode, 0, done.stderr)
    steps = p.results()["programs"]["halo"]["steps"]
    check(steps > STEPS, f"steps of a longer run: {steps}")
    done = p.run("--delay-ns", "1", "--rounds", "2", "--seconds", "5", "--cases", "plain,elided")
    equal((done.returncode, p.results()["programs"]["halo"]["steps"]), (0, steps), f"steps of the second call: {done.stderr}")
    done = p.run("--delay-ns", "1", "--rounds", "9", "--minutes", "0.0001", "--cases", "plain,elided")
    check(done.returncode == 0 and "stopped by --minutes" in done.stderr, done.stderr)
    equal(p.results()["programs"]["halo"]["rounds"], 3, "rounds: how long the first one takes is not known")


def check_wrong(r, p):
    """What a program computes must not differ, and a program that fails does not stop the others."""
    (p.output / "runs.jsonl").unlink()
    p.write(halo(r, same="^seconds.*"), particles(r, name="gone", command="{bin}/there_is_no_such_program"),
            halo(r, name="silent", same="no line has this"), particles(r, name="unprepared", prepare="echo here it ends >&2; false"))
    done = p.run("--delay-ns", "1", "--rounds", "1", "--cases", "plain,again,elided")
    equal(done.returncode, 1, done.stderr)
    check("halo: its results differ between runs" in done.stderr and "| NO |" in done.stdout, done.stderr)
    failed = p.results()["failed"]
    for name, why in (("gone", "exit code"), ("silent", "matches 'no line has this'"), ("unprepared", "preparing it fails: here it ends")):
        check(why in failed[name], f"{name}: {failed}")
    p.write(halo(r))
    (p.output / "runs.jsonl").unlink()
    done = p.run("--rounds", "1")
    check(done.returncode == 1 and "no driver to ask: give --delay-ns" in p.results()["failed"]["halo"], f"no driver: {done.stderr}")
    (p.output / "runs.jsonl").unlink()
    done = p.run("--rounds", "1", driver=True)
    equal(done.returncode, 0, done.stderr)
    check(p.results()["programs"]["halo"]["look_ns"] > 1900, "a look at the driver")


def check_plans(r, p):
    for entry, why in (({"name": "a", "command": "b"}, "a has no 'same'"), (halo(r, colour="red"), "halo: 'colour' is not known"),
                       ({"name": "a", "command": "b {steps}", "same": "c"}, "'steps' and {steps} go together"),
                       ({"name": "a", "command": "b", "same": "("}, "'same' is no regular expression")):
        p.write(entry)
        done = p.run()
        check(done.returncode == 2 and why in done.stderr, f"{entry}: {done.stderr}")
    p.write(halo(r), halo(r))
    check("halo is there twice" in p.run().stderr, "a name twice")
    p.write(halo(r))
    for words, why in ((["--cases", "plain,eluded"], "--cases eluded: give some of plain"), (["--cases", "elided"], "without plain"),
                       (["--only", "LULESH"], "no name of"), (["--rounds", "0"], "at least one"), (["--plan", "/nonexistent"], "is no plan")):
        done = p.run(*words)
        check(done.returncode == 2 and why in done.stderr, f"{words}: {done.stderr}")


def test_programs(r):
    p = Programs(r)
    check_rounds(r, p)
    check_going_on(r, p)
    check_length(r, p)
    check_wrong(r, p)
    check_plans(r, p)
    p.plan = r.args.sources / "sessions/bench/paper_programs.json"  # it reads, and its first program is not here
    done = p.run("--delay-ns", "1", "--rounds", "1", "--only", "LULESH, -s 10", "--cases", "plain")
    check(done.returncode == 1 and "exit code" in p.results()["failed"]["LULESH, -s 10"], done.stderr)


if __name__ == "__main__":
    main(globals())
