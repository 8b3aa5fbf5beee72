"""The figures of the papers on this machine: imbrex figures --help."""

import argparse
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import compare  # noqa: E402
import jacobi_figures  # noqa: E402
import other_figures  # noqa: E402
import report  # noqa: E402
import session_figures  # noqa: E402
import simulated_figures  # noqa: E402
import slurm  # noqa: E402
from measure import Results, measure  # noqa: E402
from model import add_simulated  # noqa: E402
from setting import FiguresError, beside, find_setting, kept_setting, simulated  # noqa: E402

ALL = dict(sorted((jacobi_figures.FIGURES | other_figures.FIGURES | session_figures.FIGURES).items()))


def arguments():
    parser = argparse.ArgumentParser(
        prog="imbrex figures", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures figures of the papers on this machine, and draws them in the papers' axes: raw data, pictures and one page\n"
                    "of HTML in a folder. What has been measured is kept: started again, it goes on.",
        epilog="  imbrex figures --list\n  imbrex figures c20-fig5 c22-fig8 --quick\n  imbrex figures all --output out/h200\n"
               "  imbrex figures all --machine summit --output out/summit\n"
               "  imbrex figures diff out/before out/after")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="their names, or all; or: diff FOLDER FOLDER")
    parser.add_argument("--list", action="store_true", help="say which there are, and end")
    parser.add_argument("--quick", action="store_true", help="smaller problems, fewer points: minutes instead of hours")
    parser.add_argument("--repetitions", type=int, help="of each point, in turns (default: 5; with --quick 3)")
    parser.add_argument("--gpus", type=int, help="so many GPUs (default: all; 0: the cores in their place)")
    parser.add_argument("--machine", help="measure nothing here: run in virtual time on this machine (imbrex machines lists them): those of Jacobi3D, miniMD and ping-pong")
    parser.add_argument("--beside", metavar="MACHINE", help="draw Jacobi3D's runs in virtual time on a node of this machine beside those that are measured")
    parser.add_argument("--cores", type=int, help="so many cores, where no GPU is used (default: all of this process)")
    parser.add_argument("--mpirun", help="what starts ranks, with the option before their number (default: mpirun -n, where it is); '': none")
    parser.add_argument("--output", default="out/figures", help="folder (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that one run may take (default: %(default)s)")
    parser.add_argument("--bin", help="folder of the programs (default: that of imbrex)")
    parser.add_argument("--redraw", action="store_true", help="measure nothing, draw what there is, also what was measured on another machine")
    parser.add_argument("--slurm", action="store_true", help="print a batch script for Slurm, and end")
    return parser.parse_args()


def all_of(setting_machine):
    return simulated_figures.FIGURES if setting_machine else ALL


def chosen(names, machine):
    if names == ["all"]:
        return list(all_of(machine))
    for name in names:
        if name not in ALL:
            raise FiguresError(f"there is no figure '{name}': {', '.join(ALL)}")
        if name not in all_of(machine):
            raise FiguresError(f"{name} has parts that are not simulated: with --machine there are {', '.join(all_of(machine))}")
    return names


def setting_of(o):
    if o.machine and o.beside:
        raise FiguresError("--machine measures nothing here that --beside could be drawn beside: leave one of them out")
    if not o.machine:
        setting = find_setting(pathlib.Path(o.bin), o.gpus, o.cores, o.quick, o.mpirun)
        setting.beside = o.beside or ""
        return setting
    return simulated(find_setting(pathlib.Path(o.bin), 0, o.cores, o.quick, ""), o.machine, o.gpus)


def make_figures(names, setting):
    figures = [all_of(setting.machine)[name](setting) for name in names]
    if setting.beside:
        there = beside(setting, setting.beside)
        for f in figures:
            if f.name in jacobi_figures.FIGURES:
                add_simulated(f, jacobi_figures.FIGURES[f.name](there), setting.beside)
    return figures


def show_difference(folders):
    if len(folders) != 2:
        raise FiguresError("diff takes two folders of figures")
    (a, facts_a), (b, facts_b) = map(compare.values_of, folders)
    for what in ("host", "gpus", "cores"):
        if facts_a[what] != facts_b[what]:
            print(f"not the same machine: {what} {facts_a[what]} and {facts_b[what]}")
    lines, same, unsure = compare.differences(a, b)
    print("\n".join(lines) if lines else "nothing differs by more than chance")
    print(f"{same} points are alike" + (f"; of {unsure} there are too few values for a test: all of one beyond all of the other" if unsure else ""))


def say_what_cannot_be_measured(figures):
    """On standard error; whether anything can."""
    some_can = not figures
    for f in figures:
        points = [p for panel in f.panels for p in panel.points]
        reasons = sorted({p.needs for p in points if p.needs})
        num = sum(bool(p.needs) for p in points)
        some_can = some_can or num < len(points)
        if num == 0:
            continue
        print(f"imbrex figures: {f.name}: {num} of {len(points)} points cannot be measured here: {'; '.join(reasons)}", file=sys.stderr)
    return some_can


def measure_and_draw(o, names):
    folder = pathlib.Path(o.output)
    if o.redraw:
        kept = compare.read_kept(folder)
        setting, repetitions = kept_setting(pathlib.Path(o.bin), kept), kept["repetitions"]
    else:
        setting = setting_of(o)
        setting.facts["date"] = time.strftime("%Y-%m-%d")
        repetitions = o.repetitions if o.repetitions is not None else 3 if o.quick else 5
    if repetitions < 1:
        raise FiguresError(f"--repetitions {repetitions}: at least one")
    folder.mkdir(parents=True, exist_ok=True)
    figures = make_figures(names, setting)
    results = Results(folder / "runs.jsonl")
    try:
        if not o.redraw:
            measure(figures, results, repetitions, o.timeout)
    finally:  # also of what there is when it is interrupted
        compare.write_values(folder, figures, results, repetitions, setting)
        (folder / "index.html").write_text(report.page(figures, results, repetitions, setting.facts), encoding="utf-8")
        for f in figures:
            svg = report.picture.svg_of(f, report.summarise(f, results, repetitions)[0])
            if svg:
                (folder / f"{f.name}.svg").write_text(svg, encoding="utf-8")
        print(f"{folder}/index.html has {', '.join(names)}; raw data: {folder}/runs.jsonl, figures.json")
    can_be_had = o.redraw or say_what_cannot_be_measured(figures)
    failed = sum(isinstance(r, str) for r in results.runs.values())
    return 1 if failed or not can_be_had else 0


def main():
    o = arguments()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if o.list:
        setting = setting_of(o)
        for f in make_figures(list(all_of(o.machine)), setting):
            points = [p for panel in f.panels for p in panel.points]
            can = sum(not p.needs for p in points)
            print(f"{f.name:10} {f.title} ({f.paper}); {can} of {len(points)} points can be measured here")
        return 0
    if o.figures[:1] == ["diff"]:
        show_difference(o.figures[1:])
        return 0
    if not o.figures:
        raise FiguresError("name some figures, or all: imbrex figures --list shows them")
    names = chosen(o.figures, o.machine)
    if o.slurm:
        print(slurm.script(names, o.output, o.gpus, o.quick, str(pathlib.Path(o.bin) / "imbrex")), end="")
        return 0
    return measure_and_draw(o, names)


def failed(what, code):
    print(f"imbrex figures: {what}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what it still holds would fail again
    return code


try:
    code = main()
    sys.stdout.flush()
    sys.exit(code)
except FiguresError as e:
    sys.exit(failed(e, 2))
except OSError as e:
    sys.exit(failed(f"{e.filename} cannot be written: {e.strerror}; --output names another folder" if e.filename else f"standard output: {e.strerror}",
                    2 if e.filename else 1))
except KeyboardInterrupt:
    sys.exit(130)
