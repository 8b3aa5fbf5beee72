"""What asking about every buffer costs MPI routines: Moraru et al. 2021, Figures 3 to 5."""

import pathlib
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


def overhead(s, name, figure, routines, about):
    script = pathlib.Path(__file__).resolve().parents[2] / "sessions/bench/micro.py"
    library, job = s.bin.parent / "lib/libimbrex_sessions.so", s.bin / "sessions_micro_openmpi"
    missing = what_is_missing(s, script, library, job)
    sizes = [8 * 8**k for k in range(4 if s.quick else 7)]
    ranks = [2] + ([] if s.quick or s.cores < 4 else [s.cores])
    start = " ".join(w for w in s.mpirun if w not in ("-n", "-np"))
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
}
