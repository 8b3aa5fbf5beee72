"""One HTML page that needs nothing beside it: pictures, tables, what the papers state and what was measured here."""

import html

import picture
import summary as numbers
from measure import text_of

STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#0b0b0b;background:#fcfcfb}
table{border-collapse:collapse;margin:.6em 0}td,th{border-bottom:1px solid #e4e3df;padding:.15em .7em;text-align:right}
td:first-child,th:first-child{text-align:left}code{font-size:.8em}details{margin:.5em 0}.quiet{color:#52514e}svg{max-width:100%;height:auto}"""


def summarise(figure, results, repetitions):
    """{(panel, series, x): (median, low, high)}, and {(panel, series, x): why not} of what was not measured."""
    found, missing = {}, {}
    for panel in figure.panels:
        for p in panel.points:
            outcome = results.outcome(p, repetitions)
            key = (panel.title, p.series, p.x)
            if outcome.values:
                found[key] = (numbers.median(outcome.values), *numbers.interval(outcome.values))
            else:
                missing[key] = outcome.error
    return found, missing


def _table(panel, found):
    xs = sorted({p.x for p in panel.points if any((panel.title, s, p.x) in found for s in panel.series())})
    if not xs:
        return ""
    rows = ["<tr><th></th>" + "".join(f"<th>{x:g}</th>" for x in xs) + "</tr>"]
    for s in panel.series():
        cells = [found.get((panel.title, s, x)) for x in xs]
        if any(cells):
            rows.append(f"<tr><td>{html.escape(s)}</td>" + "".join(
                f'<td title="{c[1]:.5g} to {c[2]:.5g}">{c[0]:.4g}</td>' if c else "<td></td>" for c in cells) + "</tr>")
    return (f"<h3>{html.escape(panel.title)}: {html.escape(panel.y_label)}, by {html.escape(panel.x_label)}</h3><table>"
            + "".join(rows) + "</table>")


def _claims(figure, found):
    medians = {key: value[0] for key, value in found.items()}
    rows = []
    for c in figure.claims:
        here = c.here(medians)
        rows.append(f"<tr><td>{html.escape(c.text)}</td><td>{html.escape(c.stated)}</td>"
                    f"<td>{f'{here:+.1f} {c.unit}' if here is not None else 'not measured'}</td></tr>")
    return "<table><tr><th>what its text states</th><th>there</th><th>here, the best</th></tr>" + "".join(rows) + "</table>" if rows else ""


def _missing(missing):
    reasons = {}
    for (panel, series, x), why in missing.items():
        reasons.setdefault((panel, series, why), []).append(x)
    return "".join(f"<li>{html.escape(panel)}, {html.escape(series)} at {', '.join(f'{x:g}' for x in xs)}: {html.escape(why)}</li>"
                   for (panel, series, why), xs in reasons.items())


def section(figure, found, missing):
    svg = picture.svg_of(figure, found)
    parts = [f'<h2 id="{figure.name}">{figure.name}: {html.escape(figure.title)}</h2>',
             f'<p class="quiet">{html.escape(figure.paper)}. {html.escape(figure.about)}</p>']
    if svg:
        parts.append(svg[svg.index("<svg"):])
    elif found:
        parts.append("<p>No picture: matplotlib is missing (python3-matplotlib).</p>")
    parts.append(_claims(figure, found))
    parts += [_table(panel, found) for panel in figure.panels]
    if missing:
        parts.append(f"<details><summary>{len(missing)} points were not measured</summary><ul>{_missing(missing)}</ul></details>")
    commands = dict.fromkeys(text_of(p.command) for panel in figure.panels for p in panel.points if not p.needs)
    parts.append("<details><summary>commands</summary><pre><code>" + html.escape("\n".join(commands)) + "</code></pre></details>")
    return "\n".join(parts)


def page(figures, results, repetitions, facts):
    sections, contents = [], []
    for f in figures:
        found, missing = summarise(f, results, repetitions)
        sections.append(section(f, found, missing))
        contents.append(f'<li><a href="#{f.name}">{f.name}</a> {html.escape(f.title)}</li>')
    gpus = ", ".join(facts["gpus"]) or "no GPU"
    about = (f"imbrex {facts['version']} {facts['commit']}, {facts['compiler']}; {facts['host']}: {facts['cores']} cores, {gpus}; "
             f"{facts['date']}; {repetitions} repetitions in turns, medians; shades and tool tips: 95 % intervals, or least and most")
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>imbrex figures</title><style>{STYLE}</style></head><body>'
            f'<h1>The papers\' figures, here</h1><p class="quiet">{html.escape(about)}</p><ul>{"".join(contents)}</ul>'
            + "\n".join(sections) + "</body></html>\n")
