"""The page: pictures and tables of one trace, or of two beside each other."""

import html
import io

import critical
import measures
import tasks

STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#0b0b0b;background:#fcfcfb}
table{border-collapse:collapse;margin:.6em 0}td,th{border-bottom:1px solid #e4e3df;padding:.15em .7em;text-align:right}
td:first-child,th:first-child{text-align:left}.quiet{color:#52514e}svg{max-width:100%;height:auto}"""
COLOURS = {"entry": "#2a78d6", "kernel": "#1baf7a", "copy": "#eda100", "comm": "#eb6834", "runtime": "#8a8984", "idle": "#efeeea"}
SHOWN = 32  # tracks in pictures and tables


def colour(kind, kinds):
    return COLOURS.get(kind) or ["#4a3aa7", "#e34948", "#0d8c9e", "#b1469d"][kinds.index(kind) % 4]


def pictures(trace, bins):
    """Utilisation over time and grain sizes as SVG text; nothing where matplotlib is missing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return None
    plt.rcParams["svg.hashsalt"] = "imbrex"
    shown = trace.tracks[:SHOWN]
    kinds = sorted({s.kind for t in trace.tracks for s in t.own}, key=lambda k: (k == "idle", k))
    picture, axes = plt.subplots(len(shown) + 1, 1, figsize=(10, 0.75 * len(shown) + 2.6), squeeze=False,
                                 gridspec_kw={"height_ratios": [1] * len(shown) + [2.4]})
    edges = [trace.length * (i + 0.5) / bins / 1e3 for i in range(bins)]
    for track, place in zip(shown, axes.flat):
        shares = measures.utilisation(track, trace.length, bins)
        place.stackplot(edges, *[[s[k] for s in shares] for k in kinds], colors=[colour(k, kinds) for k in kinds], labels=kinds, linewidth=0)
        place.set(xlim=(0, trace.length / 1e3), ylim=(0, 1), yticks=[])
        place.set_ylabel(track.name, rotation=0, ha="right", va="center", fontsize=7)
        place.tick_params(labelsize=7, labelbottom=track is shown[-1])
    axes[len(shown) - 1][0].set_xlabel("ms", fontsize=8)
    axes[0][0].legend(ncols=len(kinds), fontsize=7, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    sizes = measures.grain_sizes(trace)
    last = axes[len(shown)][0]
    if sizes:
        xs = list(range(min(sizes), max(sizes) + 1))
        last.bar([str(f"{2.0**x:g}") for x in xs], [sizes[x] for x in xs], color=COLOURS["entry"])
    last.set_xlabel("entry methods by what a call took, us and up to twice that", fontsize=8)
    last.set_ylabel("calls", fontsize=8)
    last.tick_params(labelsize=7)
    picture.tight_layout()
    text = io.StringIO()
    picture.savefig(text, format="svg", metadata={"Date": None})
    plt.close(picture)
    svg = text.getvalue()
    return svg[svg.index("<svg"):]


def table(head, rows):
    def row(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    return "<table>" + row(head, "th") + "".join(row(r, "td") for r in rows) + "</table>"


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else ""


def totals(trace):
    """What two runs are compared by: [(what, number, unit)]."""
    kinds = sum((measures.time_of_kinds(trace.tracks[p]) for p in trace.pes()), start=type(measures.time_of_kinds(trace.tracks[0]))())
    whole = trace.length * len(trace.pes())
    hidden = [measures.overlap(trace, p) for p in trace.pes()]
    flight = sum(o.in_flight for o in hidden)
    shares = dict(critical.shares(critical.path(trace)))
    result = [("length", trace.length / 1e3, "ms"), ("messages", len(trace.messages), "")]
    result += [(f"PEs: {kind}", 100 * time / whole, "%") for kind, time in sorted(kinds.items())]
    result += [("in flight and hidden", 100 * sum(o.hidden for o in hidden) / flight if flight else 0, "%"),
               ("critical path: messages", 100 * shares.get("message", 0) / trace.length, "%"),
               ("critical path: idle", 100 * shares.get("idle", 0) / trace.length, "%")]
    return result


def section(title, trace, bins):
    tracks, pes = trace.tracks, trace.pes()
    kinds = sorted({s.kind for t in tracks for s in t.own})
    parts = [f"<h2>{html.escape(title)}</h2>", f'<p class="quiet">{trace.length / 1e3:.3f} ms, {len(tracks)} tracks, {len(trace.messages)} messages'
             + (f"; {trace.recorded} of {trace.ranks} ranks are recorded" if trace.recorded < trace.ranks else "")
             + (f"; pictures and tables of the first {SHOWN} tracks" if len(tracks) > SHOWN else "") + "</p>"]
    svg = pictures(trace, bins)
    parts.append(svg or "<p>No picture: matplotlib is missing (python3-matplotlib).</p>")
    parts.append("<h3>Where time goes</h3>" + table(["", *kinds], [
        [t.name, *(percent(measures.time_of_kinds(t)[k], trace.length) for k in kinds)] for t in tracks[:SHOWN]]))
    parts.append("<h3>Communication hidden behind work</h3>" + table(
        ["", "messages in flight", "hidden", "exposed"],
        [[tracks[p].name, percent(o.in_flight, trace.length), percent(o.hidden, o.in_flight), percent(o.in_flight - o.hidden, o.in_flight)]
         for p in pes[:SHOWN] for o in [measures.overlap(trace, p)]]))
    waits = {p: measures.awaited_by(trace, p) for p in pes[:SHOWN]}
    whom = sorted({w for all_of in waits.values() for w in all_of}, key=lambda w: (w is None, w or 0))[-SHOWN:]
    parts.append("<h3>Idle, waiting for whom (ms)</h3>" + table(
        ["", *("anything else" if w is None else "ranks that are not recorded" if w == measures.OTHERS else tracks[w].name for w in whom)],
        [[tracks[p].name, *(f"{waits[p][w] / 1e3:.3f}" if waits[p][w] else "" for w in whom)] for p in waits]))
    matrix = measures.message_matrix(trace)
    parts.append("<h3>Messages from (rows) to (columns)</h3>" + table(
        ["", *(tracks[p].name for p in pes[:SHOWN])], [[tracks[a].name, *(matrix[a, b] or "" for b in pes[:SHOWN])] for a in pes[:SHOWN]]))
    steps = critical.path(trace)
    parts.append(f"<h3>The critical path</h3><p>{len(steps)} steps, {sum(w == 'message' for *_, w in steps)} of them messages from one track to another."
                 + (" What let streams go on is concluded from the times." if any(not t.is_pe for t in tracks) else "") + "</p>"
                 + table(["", "ms", "of the run"],
                         [[what, f"{time / 1e3:.3f}", percent(time, trace.length)] for what, time in critical.shares(steps)[:20]]))
    if trace.tasks:
        parts.append(of_tasks(trace))
    return "\n".join(parts)


def of_tasks(trace):
    chain = tasks.longest_chain(trace)
    in_chain, running = sum(t.running for t in chain), sum(t.running for t in trace.tasks)
    rows = [[k.name, k.count, f"{k.running / 1e3:.3f}", f"{k.running / k.count:.2f}", f"{k.for_tasks / k.count:.2f}", f"{k.for_place / k.count:.2f}", k.failed or ""]
            for k in tasks.by_name(trace)[:SHOWN]]
    return ("<h3>Tasks</h3>" + table(["", "count", "running, ms", "each, us", "waiting for tasks, each, us", "for a place and data, each, us", "failed"], rows)
            + f"<p>The longest chain has {len(chain)} of {len(trace.tasks)} tasks and {in_chain / 1e3:.3f} ms: with enough places the tasks could take "
            f"{percent(in_chain, running)} of the time that they take one after the other. <code>imbrex trace dot</code> draws them.</p>")


def page(named_traces, bins):
    """`named_traces`: one or two (name, trace)."""
    parts = []
    if len(named_traces) == 2:
        (a, one), (b, two) = named_traces
        other = {what: number for what, number, _ in totals(two)}
        mine = totals(one)
        rows = [[f"{what}{f', {unit}' if unit else ''}", f"{n:.4g}", f"{other.get(what, 0):.4g}", f"{other.get(what, 0) / n:.3f}" if n else ""]
                for what, n, unit in mine]
        parts.append("<h2>Side by side</h2>" + table(["", a, b, "second / first"], rows))
    parts += [section(name, trace, bins) for name, trace in named_traces]
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>imbrex trace</title><style>{STYLE}</style></head><body>'
            "<h1>What the trace says</h1>" + "\n".join(parts) + "</body></html>\n")
