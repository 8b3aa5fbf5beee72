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


class Events:
    """The events of a file by what they are."""

    def __init__(self):
        self.processes, self.names, self.kinds, self.slices, self.sent, self.received, self.tasks = {}, {}, {}, {}, {}, [], []

    def take(self, e):
        """Throws what Python does where a member is missing or is no number."""
        what, key = e.get("ph"), (number_of(e, "pid", 0), number_of(e, "tid", 0))
        if what == "X":
            begin, length = number_of(e, "ts"), number_of(e, "dur")
            if length >= 0:
                self.slices.setdefault(key, []).append(Slice(begin, begin + length, str(e.get("cat", "")), str(e.get("name", ""))))
        elif what in ("s", "f") and e.get("cat") == "task":
            return
        elif what == "s":
            self.sent[e.get("id")] = (key, number_of(e, "ts"))
        elif what == "f":
            hash(e.get("id"))
            self.received.append((e.get("id"), key, number_of(e, "ts")))
        elif what == "M":
            self.take_fact(e, key)

    def take_fact(self, e, key):
        value = e.get("args", {})
        if e["name"] == "process_name":
            self.processes[key[0]] = str(value["name"])
        elif e["name"] == "thread_name":
            self.names[key] = str(value["name"])
        elif e["name"] == "imbrex_track":
            self.kinds[key] = value["kind"]
        elif e["name"] == "imbrex_task":
            read_task(value, 0, 0)  # throws where it is none
            self.tasks.append((key, value))


def number_of(e, name, default=None):
    value = e.get(name, default) if default is not None else e[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(name)
    return value


def events_of(path):
    """The list of them, and what is known of the job."""
    try:
        with open(path, encoding="utf-8") as f:
            events = json.load(f)
    except (OSError, ValueError, RecursionError) as e:
        raise TraceError(f"{path} cannot be read as a trace: {e}") from e
    facts = {}
    if isinstance(events, dict):
        facts = events.get("otherData", {})
        events = events.get("traceEvents")
    if not isinstance(events, list):
        raise TraceError(f"{path} is no trace: it has no traceEvents")
    return events, facts if isinstance(facts, dict) else {}


def read(path):
    events, facts = events_of(path)
    known = Events()
    for n, e in enumerate(events):
        try:
            known.take(e)
        except (AttributeError, KeyError, TypeError):
            raise TraceError(f"{path}: event {n} is none that imbrex writes: {json.dumps(e)[:100]}") from None
    if not known.slices:
        raise TraceError(f"{path} has no slices: was anything traced?")
    first = min(s.begin for all_of in known.slices.values() for s in all_of)
    tracks, number = [], {}
    for key in sorted(known.slices):
        number[key] = len(tracks)
        for s in known.slices[key]:
            s.begin -= first
            s.end -= first
        ordered = sorted(known.slices[key], key=lambda s: (s.begin, -s.end))
        name = ", ".join(x for x in (known.processes.get(key[0]), known.names.get(key)) if x)
        tracks.append(Track(name, known.kinds.get(key, "pe") == "pe", key[0], ordered, innermost(ordered)))
    ranks, recorded = (v if isinstance(v, int) else 0 for v in (facts.get("ranks", 0), facts.get("recorded", 0)))
    messages = messages_of(known, number, first, recorded < ranks)
    tasks = [read_task(facts, number[key], first) for key, facts in known.tasks if key in number]
    return Trace(tracks, messages, max(s.end for t in tracks for s in t.slices), tasks, ranks, recorded)


def messages_of(known, number, first, is_sampled):
    messages = []
    for i, key, at in known.received:
        if i in known.sent and known.sent[i][0] in number and key in number:
            sender, sent = known.sent[i]
            messages.append(Message(number[sender], sent - first, number[key], at - first))
        elif is_sampled and i not in known.sent and key in number:
            messages.append(Message(None, float("-inf"), number[key], at - first))
    messages.sort(key=lambda m: m.received)
    return messages


def read_task(facts, track, first):
    def moment(name):
        return max(number_of(facts, name) - first, 1e-6) if name in facts else 0.0

    return Task(track, facts["task"], facts["name"], facts["place"], moment("submitted"), moment("ready"), moment("began"),
                moment("ended"), facts.get("failed", False), facts["after"])
