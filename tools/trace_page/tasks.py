"""Tasks of a trace: by name, what they waited for, the longest chain, and as a graph for Graphviz."""

import collections
import dataclasses


@dataclasses.dataclass
class Kind:
    name: str
    count: int = 0
    running: float = 0  # microseconds, as the others
    for_tasks: float = 0
    for_place: float = 0  # and for data
    failed: int = 0


def by_name(trace):
    """[Kind], the longest first."""
    kinds = {}
    for t in trace.tasks:
        k = kinds.setdefault(t.name, Kind(t.name))
        k.count += 1
        k.running += t.running
        k.for_tasks += max(t.ready - t.submitted, 0) if t.ready else 0
        k.for_place += max(t.began - t.ready, 0) if t.began and t.ready else 0
        k.failed += t.failed
    return sorted(kinds.values(), key=lambda k: -k.running)


def longest_chain(trace):
    """The tasks that no number of places could run in less time: [Task], the first first."""
    best, before, place = {}, {}, {}
    for t in sorted(trace.tasks, key=lambda t: (t.track, t.number)):
        earlier = [(best[t.track, n], (t.track, n)) for n in t.after if (t.track, n) in best]
        length, link = max(earlier, default=(0.0, None))
        best[t.track, t.number] = length + t.running
        before[t.track, t.number] = link
        place[t.track, t.number] = t
    if not best:
        return []
    at, chain = max(best, key=best.get), []
    while at is not None:
        chain.append(place[at])
        at = before[at]
    return chain[::-1]


COLOURS = ["#cde2fb", "#c9efdf", "#fbe6bd", "#fbd9cb", "#dcd7f3", "#f6d0d0", "#cfe9ec", "#ecd5e6"]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def dot(trace, most):
    """The graph as text of Graphviz. At most `most` tasks; the longest chain is drawn thick."""
    shown = trace.tasks[:most]
    numbers = {(t.track, t.number) for t in shown}
    chain = longest_chain(trace)
    thick = {(t.track, t.number) for t in chain}
    links = {((a.track, a.number), (b.track, b.number)) for a, b in zip(chain, chain[1:])}
    names = {k.name: COLOURS[i % len(COLOURS)] for i, k in enumerate(by_name(trace))}
    of_track = collections.defaultdict(list)
    for t in shown:
        of_track[t.track].append(t)
    lines = ["digraph tasks {", '  node [shape=box, style=filled, fontname="sans-serif", fontsize=10];']
    if len(shown) < len(trace.tasks):
        lines.append(f"  label={quoted(f'the first {len(shown)} of {len(trace.tasks)} tasks')};")
    for track, tasks in sorted(of_track.items()):
        lines += [f"  subgraph cluster_{track} {{", f"    label={quoted(trace.tracks[track].name)};"]
        for t in tasks:
            label = f"{t.name} {t.number}\n{t.running:.1f} us, {t.place}" if t.began else f"{t.name} {t.number}\ndid not run"
            more = ', color="#d03b3b", penwidth=2' if (track, t.number) in thick else ', color="#8a8984"'
            fill = "#d03b3b" if t.failed else names[t.name]
            lines.append(f"    t{track}_{t.number} [label={quoted(label)}, fillcolor={quoted(fill)}{more}];")
        lines.append("  }")
    for t in shown:
        for n in t.after:
            if (t.track, n) in numbers:
                edge = ((t.track, n), (t.track, t.number))
                strong = ' [color="#d03b3b", penwidth=2]' if edge in links else ""
                lines.append(f"  t{t.track}_{n} -> t{t.track}_{t.number}{strong};")
    return "\n".join([*lines, "}"]) + "\n"
