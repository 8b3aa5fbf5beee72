"""A trace of --imbrex-trace as tracks of slices, and the messages between them. Times are microseconds from the first slice."""

import bisect
import dataclasses
import json


class TraceError(Exception):
    """A file that is no trace; the text says why."""


@dataclasses.dataclass
class Slice:
    begin: float
    end: float
    kind: str  # the category: entry, kernel, runtime, comm, idle, ...
    name: str

    @property
    def length(self):
        return self.end - self.begin


@dataclasses.dataclass
class Track:
    name: str  # "rank 0, PE 1"
    is_pe: bool
    process: int
    slices: list[Slice]  # by begin; those inside others behind them
    own: list[Slice] = dataclasses.field(default_factory=list)  # what each moment belongs to: the innermost slice

    def at(self, time):
        """The moment's piece of `own`; nothing between two."""
        i = bisect.bisect_right(self.own, time, key=lambda s: s.begin) - 1
        return self.own[i] if i >= 0 and time < self.own[i].end else None


@dataclasses.dataclass
class Message:
    sender: int | None  # tracks; None: of a rank that is not recorded, and then sent at minus infinity
    sent: float
    receiver: int
    received: float


@dataclasses.dataclass
class Task:
    track: int  # of the PE whose it is
    number: int
    name: str
    place: str
    submitted: float
    ready: float  # 0, as the next two: that never came
    began: float
    ended: float
    failed: bool
    after: list[int]  # numbers of tasks of the same PE

    @property
    def running(self):
        return max(self.ended - self.began, 0.0) if self.began else 0.0


@dataclasses.dataclass
class Trace:
    tracks: list[Track]
    messages: list[Message]  # by the time at which they were received
    length: float
    tasks: list[Task] = dataclasses.field(default_factory=list)
    ranks: int = 0  # of the job; 0: not known
    recorded: int = 0  # of these

    def pes(self):
        return [i for i, t in enumerate(self.tracks) if t.is_pe]


def innermost(slices):
    """Cuts nested slices so that each moment is in one."""
    pieces, open_ones, reached = [], [], 0.0

    def give(until):
        nonlocal reached
        if open_ones and until > reached:
            s = open_ones[-1]
            pieces.append(Slice(reached, until, s.kind, s.name))
        reached = max(reached, until)

    for s in slices:
        while open_ones and open_ones[-1].end <= s.begin:
            give(open_ones[-1].end)
            open_ones.pop()
        give(s.begin)
        reached = max(reached, s.begin)
        open_ones.append(s)
    while open_ones:
        give(open_ones[-1].end)
        open_ones.pop()
    return pieces


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            events = json.load(f)
    except (OSError, ValueError) as e:
        raise TraceError(f"{path} cannot be read as a trace: {e}") from e
    facts = {}
    if isinstance(events, dict):
        facts = events.get("otherData", {})
        events = events.get("traceEvents")
    if not isinstance(events, list):
        raise TraceError(f"{path} is no trace: it has no traceEvents")
    processes, names, kinds, slices, sent, received, tasks = {}, {}, {}, {}, {}, [], []
    for e in events:
        what, key = e.get("ph"), (e.get("pid", 0), e.get("tid", 0))
        if what == "X":
            if e["dur"] >= 0:
                slices.setdefault(key, []).append(Slice(e["ts"], e["ts"] + e["dur"], e.get("cat", ""), e.get("name", "")))
        elif what in "sf" and e.get("cat") == "task":
            continue
        elif what == "s":
            sent[e.get("id")] = (key, e["ts"])
        elif what == "f":
            received.append((e.get("id"), key, e["ts"]))
        elif what == "M":
            value = e.get("args", {})
            if e["name"] == "process_name":
                processes[key[0]] = value["name"]
            elif e["name"] == "thread_name":
                names[key] = value["name"]
            elif e["name"] == "imbrex_track":
                kinds[key] = value["kind"]
            elif e["name"] == "imbrex_task":
                tasks.append((key, value))
    if not slices:
        raise TraceError(f"{path} has no slices: was anything traced?")
    first = min(s.begin for all_of in slices.values() for s in all_of)
    tracks, number = [], {}
    for key in sorted(slices):
        number[key] = len(tracks)
        for s in slices[key]:
            s.begin -= first
            s.end -= first
        ordered = sorted(slices[key], key=lambda s: (s.begin, -s.end))
        name = ", ".join(x for x in (processes.get(key[0]), names.get(key)) if x)
        tracks.append(Track(name, kinds.get(key, "pe") == "pe", key[0], ordered, innermost(ordered)))
    is_sampled = facts.get("recorded", 0) < facts.get("ranks", 0)
    messages = []
    for i, key, at in received:
        if i in sent and sent[i][0] in number and key in number:
            messages.append(Message(number[sent[i][0]], sent[i][1] - first, number[key], at - first))
        elif is_sampled and i not in sent and key in number:
            messages.append(Message(None, float("-inf"), number[key], at - first))
    messages.sort(key=lambda m: m.received)
    return Trace(tracks, messages, max(s.end for t in tracks for s in t.slices), read_tasks(tasks, number, first), facts.get("ranks", 0),
                 facts.get("recorded", 0))


def read_tasks(tasks, number, first):
    def moment(facts, name):
        return max(facts[name] - first, 1e-6) if name in facts else 0.0

    return [Task(number[key], facts["task"], facts["name"], facts["place"], moment(facts, "submitted"), moment(facts, "ready"), moment(facts, "began"),
                 moment(facts, "ended"), facts.get("failed", False), facts["after"]) for key, facts in tasks if key in number]
