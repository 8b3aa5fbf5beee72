"""A picture of a figure, in the axes of its paper."""

import io

COLOURS = ["#2a78d6", "#eb6834", "#1baf7a", "#4a3aa7", "#e34948", "#eda100", "#8a8984", "#0d8c9e", "#b1469d"]


def svg_of(figure, summary):
    """The picture as SVG text; nothing where matplotlib is missing. `summary`: {(panel, series, x): (median, low, high)}."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return None
    plt.rcParams["svg.hashsalt"] = figure.name
    panels = [p for p in figure.panels if any((p.title, q.series, q.x) in summary for q in p.points)]
    if not panels:
        return None
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    picture, axes = plt.subplots(rows, columns, figsize=(5.6 * columns, 4.0 * rows), squeeze=False)
    for place in axes.flat[len(panels):]:
        place.set_visible(False)
    for panel, place in zip(panels, axes.flat):
        ticks = set()
        for number, name in enumerate(panel.series()):
            points = sorted((p.x, *summary[panel.title, name, p.x]) for p in panel.points
                            if p.series == name and (panel.title, name, p.x) in summary)
            if not points:
                continue
            xs, middle, low, high = zip(*points)
            ticks |= set(xs)
            colour = COLOURS[number % len(COLOURS)]
            place.plot(xs, middle, marker="o", markersize=4, linewidth=1.5, color=colour, label=name)
            place.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)
        if panel.log_x:
            place.set_xscale("log", base=2)
            if len(ticks) < 12:
                place.set_xticks(sorted(ticks), [f"{t:g}" for t in sorted(ticks)])
                place.minorticks_off()
        if panel.log_y:
            place.set_yscale("log")
        else:
            place.set_ylim(bottom=0)
        place.set_title(panel.title, fontsize=10)
        place.set_xlabel(panel.x_label)
        place.set_ylabel(panel.y_label)
        place.grid(True, color="#e4e3df", linewidth=0.6)
        place.legend(fontsize=7, frameon=False)
    picture.tight_layout()
    text = io.StringIO()
    picture.savefig(text, format="svg", metadata={"Date": None})
    plt.close(picture)
    return text.getvalue()
