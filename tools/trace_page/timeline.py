"""A part of a trace as a drawing: a line for each PE and stream, what runs there in colours, and messages from line to line."""

import html
import re

import events
import page

ROW, BAR, LEFT, TOP, BOTTOM = 24, 17, 150, 26, 26  # pixels
QUIET = "#52514e"


def short(name):
    """`block::update` of what has namespaces and template arguments."""
    name = re.sub(r"<.*>|\{.*?\}", "", name)
    return "::".join(name.split("::")[-2:])


def label(name):
    """`block[0,0,0] compute` of a chare's stream, `cuda 0 incoming` of a lane for tasks."""
    name = re.sub(r" \(.*\)$", "", name)  # what a GPU is called
    name = re.sub(r"^.*: the (.*) (?:stream|lane) of (.*)$", r"\2 \1", name)
    return name if len(name) <= 26 else "..." + name[-23:]


def _number(x):
    return f"{x:.1f}".rstrip("0").rstrip(".")


def _ticks(begin, end):
    """Round times, and the unit they are in."""
    step = 10.0 ** len(str(int(end - begin))) / 100
    step *= next(f for f in (1, 2, 5, 10, 20, 50, 100) if (end - begin) / (step * f) <= 10)
    unit, factor = ("ms", 1e3) if end - begin >= 2000 else ("us", 1.0)
    first = -(-begin // step)
    return [(first + i) * step for i in range(int((end - first * step) // step) + 1)], unit, factor


def _pieces(track, begin, end, x):
    """By kind: (left, width) in pixels; what is too thin to be seen together with its neighbour of the kind."""
    by_kind, reached = {}, {}
    for s in track.own:
        if s.end <= begin or s.begin >= end:
            continue
        left, right = x(max(s.begin, begin)), x(min(s.end, end))
        parts = by_kind.setdefault(s.kind, [])
        if parts and left - reached[s.kind] < 0.3:
            parts[-1] = (parts[-1][0], right - parts[-1][0])
        else:
            parts.append((left, right - left))
        reached[s.kind] = right
    return {kind: [p for p in parts if p[1] >= 0.2] for kind, parts in by_kind.items()}


def _names(track, begin, end, x, y):
    """Names where there is room for them."""
    text = ""
    for s in track.slices:
        left, right = x(max(s.begin, begin)), x(min(s.end, end))
        name = short(s.name)
        if s.kind in ("entry", "kernel", "task", "copy", "user") and right - left > 5.6 * len(name) + 4:
            text += f'<text x="{_number((left + right) / 2)}" y="{y + BAR - 5}" fill="#fff" text-anchor="middle">{html.escape(name)}</text>\n'
    return text


def _arrows(trace, rows, begin, end, x):
    lines = ""
    for m in trace.messages:
        if m.sender == m.receiver or m.sender not in rows or m.receiver not in rows or m.received <= begin or m.sent >= end:
            continue
        down = rows[m.receiver] > rows[m.sender]
        y1 = TOP + ROW * rows[m.sender] + (BAR if down else 0)
        y2 = TOP + ROW * rows[m.receiver] + (0 if down else BAR)
        lines += f"M{_number(x(m.sent))} {y1}L{_number(x(m.received))} {y2}"
    return f'<path d="{lines}" fill="none" stroke="#0b0b0b" stroke-opacity=".45" stroke-width=".7"/>\n' if lines else ""


def draw(trace, begin, end, chosen, width=960, arrows=True):
    """Microseconds from the first slice, and the tracks to show. SVG text; the same for the same trace."""
    if not begin < end:
        raise events.TraceError(f"nothing lies between {begin / 1e3:g} and {end / 1e3:g} ms: the trace has {trace.length / 1e3:.3f} ms")
    rows = {track: row for row, track in enumerate(chosen)}
    height = TOP + ROW * len(chosen) + BOTTOM

    def x(time):
        return LEFT + (width - LEFT - 20) * (time - begin) / (end - begin)

    kinds = sorted({s.kind for t in trace.tracks for s in t.own}, key=lambda k: (k == "idle", k))
    paths, names, labels, seen = {}, "", "", set()
    for track, row in rows.items():
        y = TOP + ROW * row
        labels += f'<text x="{LEFT - 6}" y="{y + BAR - 5}" text-anchor="end">{html.escape(label(trace.tracks[track].name))}</text>\n'
        for kind, parts in _pieces(trace.tracks[track], begin, end, x).items():
            seen.add(kind)
            paths[kind] = paths.get(kind, "") + "".join(f"M{_number(a)} {y}h{_number(w)}v{BAR}h-{_number(w)}z" for a, w in parts)
        names += _names(trace.tracks[track], begin, end, x, y)
    text = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui,sans-serif" font-size="10">\n'
            f'<rect width="{width}" height="{height}" fill="#fcfcfb"/>\n')
    legend = LEFT
    for kind in kinds:
        if kind in seen:
            text += (f'<rect x="{legend}" y="7" width="10" height="10" fill="{page.colour(kind, kinds)}"/>'
                     f'<text x="{legend + 14}" y="16">{html.escape(kind)}</text>\n')
            legend += 30 + 6 * len(kind)
    text += "".join(f'<path d="{d}" fill="{page.colour(kind, kinds)}"/>\n' for kind, d in sorted(paths.items()) if d)
    text += names + labels + (_arrows(trace, rows, begin, end, x) if arrows else "")
    times, unit, factor = _ticks(begin, end)
    for t in times:
        text += (f'<path d="M{_number(x(t))} {height - BOTTOM}v4" stroke="{QUIET}"/>'
                 f'<text x="{_number(x(t))}" y="{height - BOTTOM + 15}" fill="{QUIET}" text-anchor="middle">{_number(t / factor)}</text>\n')
    return text + f'<text x="{LEFT - 30}" y="{height - BOTTOM + 15}" fill="{QUIET}" text-anchor="end">{unit}</text>\n</svg>\n'


def tracks_named(trace, words, most):
    """Whose names have one of these words; all without any. Not more than `most`."""
    chosen = [i for i, t in enumerate(trace.tracks) if not words or any(w in t.name for w in words)]
    if not chosen:
        raise events.TraceError(f"no line of the trace is called {' or '.join(words)}: there are {', '.join(t.name for t in trace.tracks[:most])}")
    return chosen[:most]
