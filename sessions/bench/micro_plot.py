#!/usr/bin/env python3
"""Draws the overhead ratios that micro.py wrote, as Figures 3 to 5 of Moraru et al. (2021): axes for each number
of ranks and routine; the median, and least to greatest as a band.

  sessions/bench/micro_plot.py micro.json [--output micro.png]

Exit code 2 for a wrong command line or input, 3 where matplotlib is missing.
"""

import argparse
import json
import sys

SURFACE, INK, QUIET_INK, GRID = "#fcfcfb", "#0b0b0b", "#52514e", "#e4e3df"
COLOURS = ("#e34948", "#1baf7a", "#2a78d6", "#eda100", "#4a3aa7", "#8a8984")


def fail(code, message):
    print(f"micro_plot.py: {message}", file=sys.stderr)
    raise SystemExit(code)


def load_matplotlib():
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as missing:
        fail(3, f"no picture: {missing.name} is missing: install python3-matplotlib (or pip install matplotlib)")
    return plt


def size_label(size):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def draw_axes(axes, points, cases, title):
    sizes = [p["bytes"] for p in points]
    for number, case in enumerate(cases):
        known = [(i, p["cases"][case]["ratio"]) for i, p in enumerate(points) if p["cases"][case]["ratio"]]
        if not known:
            continue
        colour = COLOURS[number % len(COLOURS)]
        places = [i for i, _ in known]
        axes.plot(places, [r["median"] for _, r in known], color=colour, linewidth=1.4, marker="o", markersize=3, label=case)
        axes.fill_between(places, [r["min"] for _, r in known], [r["max"] for _, r in known], color=colour, alpha=0.15,
                          linewidth=0)
    axes.axhline(1, color=QUIET_INK, linewidth=0.8)
    axes.set_yscale("log")
    shown = range(0, len(sizes), max(1, len(sizes) // 6))
    axes.set_xticks(list(shown), [size_label(sizes[i]) for i in shown])
    axes.set_facecolor(SURFACE)
    axes.grid(True, color=GRID, linewidth=0.6)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(which="both", colors=QUIET_INK, length=0, labelsize=8)
    axes.set_title(title, loc="left", color=INK, fontsize=10)


def draw(result, path):
    plt = load_matplotlib()
    cases = [case for case in result["cases"] if case != "plain"]
    by_axes = {}
    for p in result["points"]:
        by_axes.setdefault((p["ranks"], p["routine"]), []).append(p)
    columns = min(5, len(by_axes))
    rows = -(-len(by_axes) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(1 + 3.2 * columns, 1.4 + 2.6 * rows), facecolor=SURFACE, squeeze=False)
    for axes, ((ranks, routine), points) in zip(grid.flat, by_axes.items()):
        draw_axes(axes, sorted(points, key=lambda p: p["bytes"]), cases, f"{routine}, {ranks} ranks")
    for axes in list(grid.flat)[len(by_axes):]:
        axes.set_visible(False)
    figure.supxlabel("bytes", color=QUIET_INK, fontsize=8, y=0.5 / (1.4 + 2.6 * rows))
    figure.supylabel("time / time without checks", color=QUIET_INK, fontsize=8)
    handles, labels = grid[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="lower center", ncols=min(4, len(labels)), frameon=False, fontsize=8,
                      labelcolor=INK)
    checks = "the driver" if result["delay_ns"] is None else f"a delay of {result['delay_ns']} ns"
    figure.suptitle(f"Checks of every buffer by {checks}; {result['mpi']}; {result['cpu']}", color=INK, fontsize=10)
    figure.tight_layout(rect=(0.01, 0.6 / (1.4 + 2.6 * rows), 1, 0.99))
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        fail(2, f"cannot write {path}: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="JSON of micro.py")
    parser.add_argument("--output", default="micro.png", help="the picture (default: %(default)s)")
    args = parser.parse_args()
    try:
        with open(args.result, encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        fail(2, f"{args.result}: {error}")
    if not isinstance(result, dict) or result.get("imbrex_micro_ratios") != 1 or not result["points"]:
        fail(2, f"{args.result} is no result of micro.py")
    draw(result, args.output)


if __name__ == "__main__":
    main()
