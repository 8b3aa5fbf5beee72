"""What rounds of programs come to: medians and ranges of ratios to plain, as JSON and as a table in Markdown."""

import statistics


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "runs": values} if values else None


def ratios_of(rounds, case):
    """Of the rounds that have both."""
    return [r[case]["seconds"] / r["plain"]["seconds"] for r in rounds if case in r and "plain" in r]


def counted(rounds, kind):
    return next((r["counted"][kind] for r in rounds if "counted" in r), None)


def look_ns(rounds):
    """What one look at a buffer took in the program itself."""
    values = [r["injected"]["query_ns"] / r["injected"]["injected"] for r in rounds if "injected" in r and r["injected"]["injected"]]
    return statistics.median(values) if values else None


def summary_of(rounds, cases, ranks):
    """`rounds`: for each round {case: entry}, entries as programs.py keeps them."""
    plain = spread([r["plain"]["seconds"] for r in rounds if "plain" in r])
    summary = {"rounds": len(rounds), "plain_s": plain, "calls": counted(rounds, "calls"), "checks": counted(rounds, "checks"), "look_ns": look_ns(rounds),
               "ratio": {case: spread(ratios_of(rounds, case)) for case in cases if case != "plain"},
               "looked_at": next((r["injected"]["injected"] for r in rounds if "injected" in r), None),
               "left_to_driver": {case: max((r[case]["driver"] for r in rounds if case in r), default=None) for case in ("elided", "declared")},
               "results": sorted({e["results"] for r in rounds for e in r.values()})}
    if plain and summary["look_ns"] is not None:
        summary["looks_part_of_run"] = summary["looked_at"] * summary["look_ns"] * 1e-9 / ranks / plain["median"]
    return summary


def millions(count, seconds):
    return f"{count / seconds / 1e6:.3f} M" if count is not None else ""


def cell(found):
    return f"{found['median']:.3f} ({found['min']:.2f} to {found['max']:.2f})" if found else ""


def row(name, s, cases):
    seconds = s["plain_s"]["median"]
    part = f"{100 * s['looks_part_of_run']:.2f} %" if "looks_part_of_run" in s else ""
    look = f"{s['look_ns']:.0f} ns" if s["look_ns"] is not None else ""
    same = "yes" if len(s["results"]) == 1 else "NO"
    return [name, f"{seconds:.2f}", millions(s["calls"], seconds), millions(s["looked_at"], seconds), *(cell(s["ratio"][c]) for c in cases if c != "plain"), look, part, same]


def table(summaries, cases, titles):
    """`summaries`: {name: summary}; those without a plain run are left out."""
    head = ["program", "plain, s", "calls per second", "buffers looked at per second", *(titles[c] for c in cases if c != "plain"),
            "a look", "looks, part of the run", "same results"]
    rows = [row(name, s, cases) for name, s in summaries.items() if s["plain_s"]]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]) + "\n"
