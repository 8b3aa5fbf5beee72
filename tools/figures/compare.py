"""Two folders of figures: what differs between them by more than chance."""

import json
import pathlib

import summary as numbers
from measure import Results
from setting import FiguresError


def read_kept(folder):
    path = pathlib.Path(folder) / "figures.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise FiguresError(f"{path} cannot be read: {e}") from e


def values_of(folder):
    """{(figure, panel, series, x): (values, less is better)}, and what is known of the machine."""
    kept = read_kept(folder)
    found = {}
    for p in kept["points"]:
        found[p["figure"], p["panel"], p["series"], p["x"]] = (p["values"], p["less_is_better"])
    return found, kept["facts"]


def write_values(folder, figures, results: Results, repetitions, setting):
    """What `values_of` reads: the numbers of all points, without the reports that they are from; and with what they were measured."""
    points = []
    for f in figures:
        for panel in f.panels:
            for p in panel.points:
                outcome = results.outcome(p, repetitions)
                points.append({"figure": f.name, "panel": panel.title, "series": p.series, "x": p.x, "values": outcome.values,
                               "less_is_better": panel.less_is_better} | ({"why_not": outcome.error} if outcome.error else {}))
    path = pathlib.Path(folder) / "figures.json"
    path.write_text(json.dumps({"facts": setting.facts, "setting": setting.to_json(), "repetitions": repetitions, "points": points}, indent=1) + "\n", encoding="utf-8")


def differences(a, b, surely=0.05):
    """Lines of text, the largest change first; a change is told where ranks differ more than chance, or, with so few values that no order
    of them could, where all of one are beyond all of the other."""
    lines, same, unsure = [], 0, 0
    for key in a:
        if key not in b or not a[key][0] or not b[key][0]:
            continue
        (x, less), (y, _) = a[key], b[key]
        before, after = numbers.median(x), numbers.median(y)
        apart = max(x) < min(y) or max(y) < min(x)
        least_p = numbers.p_of_difference(list(range(len(x))), list(range(len(x), len(x) + len(y))))
        p = numbers.p_of_difference(x, y)
        if least_p > surely:
            unsure += 1
            changed = apart and len(x) > 1 and len(y) > 1
        else:
            changed = p <= surely
        if not changed or before == 0:
            same += 1
            continue
        change = 100 * (after / before - 1)
        better = (change < 0) == less
        lines.append((abs(change), f"{change:+7.1f} %  {'better' if better else 'worse':6}  {before:.4g} -> {after:.4g}  "
                                   f"{key[0]}: {key[1]}, {key[2]} at {key[3]:g} (p = {p:.3f})"))
    lines.sort(reverse=True)
    return [text for _, text in lines], same, unsure
