"""What a figure of a paper is made of: panels of points, each of which is a command and what is read from its report."""

import dataclasses
from collections.abc import Callable


class NotThat(Exception):
    """A run did something else than its point is about; the text says what."""


@dataclasses.dataclass(frozen=True)
class Point:
    """One place of one line. `command` is without repetition and report; `value` takes the report and gives the number."""

    series: str
    x: float
    command: tuple[str, ...]
    value: Callable[[dict], float]
    needs: str = ""  # why it cannot be measured here; empty: it can
    report_by: tuple[str, ...] = ("--quiet", "--report")  # options in front of the file for its report


@dataclasses.dataclass
class Panel:
    title: str
    x_label: str
    y_label: str
    points: list[Point]
    log_x: bool = True
    log_y: bool = False
    less_is_better: bool = True

    def series(self):
        return list(dict.fromkeys(p.series for p in self.points))


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a paper's text states, and the same of what was measured: `here` takes {(panel, series, x): median}."""

    text: str
    stated: str
    here: Callable[[dict], float | None]
    unit: str = ""


@dataclasses.dataclass
class Figure:
    name: str  # "c20-fig6"
    title: str
    paper: str
    about: str  # what of the paper's setting is different here
    panels: list[Panel]
    claims: list[Claim] = dataclasses.field(default_factory=list)


def add_simulated(figure, simulated, machine):
    """To each panel the lines of the same figure in virtual time on `machine`, where there are any."""
    for mine, theirs in zip(figure.panels, simulated.panels):
        mine.points += [dataclasses.replace(p, series=f"{p.series} on {machine} (simulated)") for p in theirs.points if not p.needs]


def median_of(key):
    """Of points that were measured; nothing of others."""
    return lambda medians: medians.get(key)


def gain(slow, fast):
    """How many percent faster the second key is than the first, by times."""

    def here(medians):
        if slow not in medians or fast not in medians or medians[fast] <= 0:
            return None
        return 100 * (medians[slow] / medians[fast] - 1)

    return here


def best_gain(panel, slow, fast, xs):
    """The largest `gain` over these places."""

    def here(medians):
        gains = [gain((panel, slow, x), (panel, fast, x))(medians) for x in xs]
        gains = [g for g in gains if g is not None]
        return max(gains) if gains else None

    return here
