"""The critical path: from the end of a run backwards, over PEs, streams of GPUs, and messages between PEs."""

import bisect
import collections

IDLE = "idle"
NEAR = 20.0  # microseconds: what lies further back than this did not let a stream go on


class Streams:
    """What streams ended when, of each process."""

    def __init__(self, trace):
        self.ends = collections.defaultdict(list)  # process: [(end, track)]
        for i, t in enumerate(trace.tracks):
            if not t.is_pe:
                self.ends[t.process] += [(s.end, i) for s in t.own]
        for all_of in self.ends.values():
            all_of.sort()

    def last_end(self, process, after, until):
        """(time, track) of the last slice of a stream that ended in there, or None."""
        ends = self.ends.get(process, [])
        i = bisect.bisect_right(ends, (until, float("inf"))) - 1
        return ends[i] if i >= 0 and ends[i][0] > after else None


class Arrivals:
    """Messages from other tracks, by who received them."""

    def __init__(self, trace):
        self.of = collections.defaultdict(list)
        for m in trace.messages:
            if m.sender != m.receiver:
                self.of[m.receiver].append(m)
        self.times = {track: [m.received for m in all_of] for track, all_of in self.of.items()}

    def first(self, track, begin, end):
        """The first that came in there, or None."""
        times = self.times.get(track, [])
        i = bisect.bisect_left(times, begin)
        return self.of[track][i] if i < len(times) and times[i] <= end else None


class Backwards:
    """Goes from one step to the one before it."""

    def __init__(self, trace):
        self.trace = trace
        self.streams = Streams(trace)
        self.arrivals = Arrivals(trace)
        self.begins = [[s.begin for s in t.own] for t in trace.tracks]
        self.pes = collections.defaultdict(list)
        for i, t in enumerate(trace.tracks):
            if t.is_pe:
                self.pes[t.process].append(i)

    def slice_before(self, track, time):
        """The index of the slice that the moment before `time` is in or behind; -1: none."""
        return bisect.bisect_left(self.begins[track], time) - 1

    def before_idle(self, track, i):
        """What ended the idle slice `i` of a PE: a message, or a stream whose end it noticed. (step, track, time)."""
        own = self.trace.tracks[track].own
        s = own[i]
        until = own[i + 1].end if i + 1 < len(own) else s.end
        m = self.arrivals.first(track, s.end, until)
        if m is not None and m.sent < s.end:
            if m.sender is None:
                return (track, s.begin, s.end, "a rank that is not recorded"), track, s.begin
            return (track, m.sent, s.end, "message"), m.sender, m.sent
        ended = self.streams.last_end(self.trace.tracks[track].process, s.begin, s.end)
        if ended is not None:
            return (track, ended[0], s.end, "noticing the end of a stream's work"), ended[1], ended[0]
        return (track, s.begin, s.end, IDLE), track, s.begin

    def before_stream(self, track, time):
        """Why what began at `time` on a stream did not begin sooner: what it did before, another stream, or a PE."""
        i = self.slice_before(track, time)
        own = self.trace.tracks[track].own
        previous = own[i].end if i >= 0 else 0.0
        if i >= 0 and time - previous < 0.001:
            return None, track, previous
        process = self.trace.tracks[track].process
        ended = self.streams.last_end(process, max(previous, time - NEAR), time)
        if ended is not None and ended[1] != track:
            return (track, ended[0], time, "from stream to stream"), ended[1], ended[0]
        launched, by = previous, track
        for pe in self.pes[process]:
            k = self.slice_before(pe, time)
            while k >= 0 and self.trace.tracks[pe].own[k].kind == IDLE:
                k -= 1
            if k >= 0 and min(self.trace.tracks[pe].own[k].end, time) > launched:
                launched, by = min(self.trace.tracks[pe].own[k].end, time), pe
        if by == track and i < 0:
            return None, track, 0.0
        return ((track, launched, time, "start of a stream's work") if time > launched else None), by, launched

    def step(self, track, time):
        """([(track, begin, end, what)] latest first, track, time) of what came before."""
        t = self.trace.tracks[track]
        i = self.slice_before(track, time)
        if i < 0:
            return [], track, 0.0
        s = t.own[i]
        if not t.is_pe:
            begin = min(s.end, time)
            steps = [(track, s.begin, begin, s.name)]
            gap, at, when = self.before_stream(track, s.begin)
            return steps + ([gap] if gap else []), at, when
        if s.kind != IDLE:
            return [(track, s.begin, min(s.end, time), s.name)], track, s.begin
        gap, at, when = self.before_idle(track, i)
        return [gap], at, when


def path(trace):
    """[(track, begin, end, what)], the last first; `what` is a slice's name, "message", "idle", or what lies between a PE and a stream. Messages are
    known from the trace; what let a stream go on, and which stream's end a PE noticed, is concluded from the times."""
    last = max((s.end, i) for i, t in enumerate(trace.tracks) for s in t.own if s.kind != IDLE)
    (time, at), steps, way = last, [], Backwards(trace)
    while time > 0 and len(steps) < 1_000_000:
        new, at, earlier = way.step(at, time)
        if not new and earlier >= time:
            break
        steps += new
        time = earlier
    return steps


def shares(steps):
    """[(what, microseconds)], the longest first."""
    total = collections.Counter()
    for _, begin, end, what in steps:
        total[what] += end - begin
    return total.most_common()
