"""What a trace says: where time goes, what is hidden, and who is waited for."""

import bisect
import collections
import dataclasses
import math

import critical

IDLE = critical.IDLE
OTHERS = -1  # ranks that are not recorded


def utilisation(track, length, bins):
    """[{kind: share}] of each of `bins` equal parts of the run."""
    width = length / bins
    shares = [collections.Counter() for _ in range(bins)]
    for s in track.own:
        i = min(int(s.begin / width), bins - 1)
        begin = s.begin
        while begin < s.end and i < bins:
            end = min(s.end, (i + 1) * width) if i < bins - 1 else s.end
            shares[i][s.kind] += (end - begin) / width
            begin, i = end, i + 1
    return shares


def time_of_kinds(track):
    total = collections.Counter()
    for s in track.own:
        total[s.kind] += s.length
    return total


def grain_sizes(trace, kind="entry"):
    """{n: how many slices of that kind took from 2^n to 2^(n+1) microseconds}."""
    sizes = collections.Counter()
    for t in trace.tracks:
        for s in t.slices:
            if s.kind == kind and s.length > 0:
                sizes[math.floor(math.log2(s.length))] += 1
    return sizes


def message_matrix(trace):
    """{(sender, receiver): how many}."""
    return collections.Counter((m.sender, m.receiver) for m in trace.messages)


@dataclasses.dataclass
class Overlap:
    in_flight: float = 0  # some message to the PE was on its way, from another one
    hidden: float = 0  # and the PE did something else

    @property
    def share(self):
        return self.hidden / self.in_flight if self.in_flight else 0


def overlap(trace, pe):
    """Of messages from other PEs to this one."""
    spans = sorted((m.sent, m.received) for m in trace.messages if m.receiver == pe and m.sender not in (pe, None) and m.received > m.sent)
    united = []
    for begin, end in spans:
        if united and begin <= united[-1][1]:
            united[-1][1] = max(united[-1][1], end)
        else:
            united.append([begin, end])
    result, pieces = Overlap(), trace.tracks[pe].own
    for begin, end in united:
        result.in_flight += end - begin
        i = max(bisect.bisect_right(pieces, begin, key=lambda s: s.begin) - 1, 0)
        while i < len(pieces) and pieces[i].begin < end:
            if pieces[i].kind != IDLE:
                result.hidden += max(0.0, min(end, pieces[i].end) - max(begin, pieces[i].begin))
            i += 1
    return result


def awaited_by(trace, pe):
    """{track, or OTHERS: how long this PE was idle until a message of it came, or until it noticed that a stream's work was over}; None: something
    else ended it."""
    track, waited, way = trace.tracks[pe], collections.Counter(), critical.Backwards(trace)
    for i, s in enumerate(track.own):
        if s.kind == IDLE:
            (_, _, _, what), whom, _ = way.before_idle(pe, i)
            waited[None if what == IDLE else OTHERS if whom == pe else whom] += s.length
    return waited
