"""What asking about every buffer costs MPI routines and programs: Moraru et al. 2021, Figures 3 to 13."""

import pathlib
import shlex
import sys

from model import Claim, Figure, Panel, Point

M21 = "Moraru et al. 2021"
ASKED, SAID = "inject", "inject,elide:declared"


def ratio(routine, size, ranks, case):
    def value(report):
        for p in report["points"]:
            if (p["routine"], p["bytes"], p["ranks"]) == (routine, size, ranks):
                return p["cases"][case]["ratio"]["median"]
        raise KeyError(f"{routine} of {size} bytes on {ranks} ranks")

    return value


def largest(panel, series, xs):
    def here(medians):
        found = [medians[panel, series, x] for x in xs if (panel, series, x) in medians]
        return max(found) if found else None

    return here


def what_is_missing(s, script, library, job):
    if not s.mpirun:
        return "no mpirun is here: give one by --mpirun"
    for path, what in ((script, "sessions/bench/micro.py"), (library, "libimbrex_sessions.so"), (job, job.name)):
        if not path.exists():
            return f"{what} is not beside the programs: these figures are for a build folder with the sessions library for Open MPI"
    return ""


def read(*keys):
    """What stands under these keys of a report."""
    def value(report):
        for key in keys:
            report = report[key]
        return report

    return value


def start_of(s):
    return " ".join(w for w in s.mpirun if w not in ("-n", "-np"))


def application(s, name, figure, program, title, x_label, cases, about, stated):
    """`cases`: place on the x axis -> the stand-in's arguments. Two panels: the paper's overhead, and its intensity of calls."""
    script = pathlib.Path(__file__).resolve().parents[2] / "sessions/bench/standin.py"
    library, job = s.bin.parent / "lib/libimbrex_sessions.so", s.bin / f"sessions_{program}_openmpi"
    missing = what_is_missing(s, script, library, job)
    ranks = 27 if s.cores >= 27 else s.cores
    if ranks < 2:
        missing = missing or "one core: two ranks want two"
    cost, intensity = [], []
    for x, arguments in cases.items():
        command = (sys.executable, "-B", str(script), "--library", str(library), "--mpirun", start_of(s), "--ranks", str(ranks),
                   *(() if s.on_gpus else ("--delay-ns", "400")))
        # One word, since the report's option comes behind it.
        whole = (*command, "--program", shlex.join((str(job), *arguments)))
        for series, key in (("every buffer is looked at", "injected"), ("the same, elided", "elided")):
            cost.append(Point(series, x, whole, read("ratio", key), missing, ("--json",)))
        intensity.append(Point("checks", x, whole, read("checks_per_s"), missing, ("--json",)))
    first = min(cases)
    return Figure(name, title, f"{M21}, {figure}",
                  about + f" Here by a stand-in with {ranks} ranks (docs/sessions-benchmarks.md)."
                  + ("" if s.on_gpus else " Without a GPU: a look is a delay of 400 ns, about what CUDA's takes."),
                  [Panel("overhead", x_label, "time against a plain run", cost, log_x=False),
                   Panel("intensity", x_label, "checks per second, all ranks", intensity, log_x=False, log_y=True, less_is_better=False)],
                  [Claim("the smallest problem, every buffer looked at", stated,
                         lambda medians: medians.get(("overhead", "every buffer is looked at", first)), "times"),
                   Claim("the worst place, elided", "the program without checks: 1",
                         largest("overhead", "the same, elided", cases), "times")])


def sizes(s, quick, whole):
    return quick if s.quick else whole


def lulesh(s):
    steps = {10: 3000, 20: 800, 30: 300, 40: 150, 50: 80}
    return application(s, "m21-fig6", "Figures 6 and 7", "neighbours27", "LULESH: a box of ranks with 26 neighbours", "elements of a rank along an axis",
                       {n: ("--size", str(n), "--steps", str(steps[n] // (10 if s.quick else 1))) for n in sizes(s, (10, 20), tuple(steps))},
                       "The paper: LULESH 2, 27 ranks, sizes 10 to 50.", "an important overhead for sizes 10 and 20, none for larger ones")


def minife(s):
    solves = {50: 40, 100: 20, 200: 10, 400: 5, 800: 2}
    return application(s, "m21-fig8", "Figures 8 and 9", "conjugate_gradient", "miniFE: conjugate gradients", "nx = ny, with nz = 10",
                       {n: ("--nx", str(n), "--ny", str(n), "--nz", "10", "--solves", str(max(1, k // (10 if s.quick else 1))))
                        for n, k in solves.items() if n in sizes(s, (50, 100), tuple(solves))},
                       "The paper: nx = ny = 1000 to 5000, nz = 10.", "a significant overhead even for longer runs")


def quicksilver(s):
    work = {0: 4000, 5: 4000, 20: 2000, 100: 500}
    return application(s, "m21-fig10", "Figures 10 and 11", "particles", "Quicksilver: particles that fly from rank to rank", "work for each hop",
                       {w: ("--work", str(w), "--steps", str(k // (10 if s.quick else 1))) for w, k in work.items() if w in sizes(s, (0, 20), tuple(work))},
                       "The paper: the example inputs of Quicksilver.", "a significant overhead for all test cases")


def cloverleaf(s):
    steps = {120: 5000, 240: 2500, 480: 800, 960: 300, 1920: 100}
    return application(s, "m21-fig12", "Figures 12 and 13", "halo2d", "CloverLeaf: halos in two dimensions", "cells along an axis",
                       {n: ("--nx", str(n), "--ny", str(n), "--steps", str(k // (10 if s.quick else 1))) for n, k in steps.items() if n in sizes(s, (120, 240), tuple(steps))},
                       "The paper: 960 and 3840 cells along an axis, 87 and 2955 steps.", "a pronounced overhead for smaller runs")


def overhead(s, name, figure, routines, about):
    script = pathlib.Path(__file__).resolve().parents[2] / "sessions/bench/micro.py"
    library, job = s.bin.parent / "lib/libimbrex_sessions.so", s.bin / "sessions_micro_openmpi"
    missing = what_is_missing(s, script, library, job)
    sizes = [8 * 8**k for k in range(4 if s.quick else 7)]
    ranks = [2] + ([] if s.quick or s.cores < 4 else [s.cores])
    start = start_of(s)
    points, panels = {}, []
    for n in ranks:
        command = (sys.executable, "-B", str(script), "--library", str(library), "--job", str(job), "--mpirun", start, "--ranks", str(n), "--routines",
                   ",".join(routines), "--sizes", ",".join(map(str, sizes)), "--repeats", "1", *(() if s.on_gpus else ("--delay-ns", "400")))
        for routine in routines:
            title = f"{routine}, {n} ranks"
            points[title] = [Point(series, size, command, ratio(routine, size, n, case), missing, ("--json",))
                             for series, case in (("every buffer is looked at", ASKED), ("what is declared is not", SAID)) for size in sizes]
    for title, of_panel in points.items():
        panels.append(Panel(title, "bytes", "time against a plain run", of_panel, log_y=True))
    first = f"{routines[0]}, 2 ranks"
    return Figure(name, f"What looking at every buffer costs: {', '.join(routines)}", f"{M21}, {figure}",
                  about + ("" if s.on_gpus else " Here without a GPU: a look is a delay of 400 ns, about what CUDA's takes."), panels,
                  [Claim(f"{routines[0]} on two ranks, the worst size", "large for small buffers, 1 for large ones",
                         largest(first, "every buffer is looked at", sizes), "times")])


FIGURES = {
    "m21-fig3": lambda s: overhead(s, "m21-fig3", "Figure 3", ("Allgather", "Allreduce", "Alltoall", "Bcast"), "The paper: 2, 28 and 56 ranks."),
    "m21-fig4": lambda s: overhead(s, "m21-fig4", "Figure 4", ("Gather", "Reduce", "Scatter"), "The paper: 2, 28 and 56 ranks."),
    "m21-fig5": lambda s: overhead(s, "m21-fig5", "Figure 5", ("PingPong", "PingPing"), "The paper: two ranks."),
    "m21-fig6": lulesh,
    "m21-fig8": minife,
    "m21-fig10": quicksilver,
    "m21-fig12": cloverleaf,
}
