"""One graph of tasks over all ranks: of one process, of loopback ranks, and of mpirun."""

import json
import shutil

import numpy as np
import pytest

import imbrex as ix
from job import job, run_over_processes

STEP = """
IX_KERNEL(halve, (int n, IX_GLOBAL double* x)) { IX_ITEMS_BELOW(n) { x[IX_GLOBAL_ID(0)] *= 0.5; } }
"""
RANKS = [["--imbrex-ranks=1", "--imbrex-pes=1"], ["--imbrex-ranks=2", "--imbrex-pes=1"], ["--imbrex-ranks=3", "--imbrex-pes=2"]]
over_ranks = pytest.mark.parametrize("words", RANKS, ids=" ".join)
needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


def fill(x, value):
    x.fill(value)


def mix(x, y):
    y += 2 * x


async def ring(g, n, steps, owners):
    a = ix.Distributed(g, n, (3, 4), "int64", owners=owners)
    for i in range(n):
        g.submit(fill, ix.write(a[i]), i)
    for _ in range(steps):
        for i in range(n):
            g.submit(mix, ix.read(a[i]), a[(i + 1) % n])
        await g.fewer_tasks_than(50)
    found = [int((await g.values(x))[2, 3]) for x in a]
    return found, [x.owner for x in a], g.num_ranks


def ring_in_sequence(n, steps):
    a = list(range(n))
    for _ in range(steps):
        for i in range(n):
            a[(i + 1) % n] += 2 * a[i]
    return a


def owner_of(i, ranks):
    return (i * i) % ranks


@over_ranks
@pytest.mark.parametrize("owners", ["block", "round_robin", "block_cyclic", 0, owner_of])
def test_a_graph_gives_what_one_process_gives(words, owners):
    @job(*words, pes=None)
    async def main(rt):
        found, owned, ranks = await ix.run_graph(rt, ring, 7, 4, owners=owners)
        assert found == ring_in_sequence(7, 4)
        assert ranks == rt.num_ranks
        if owners == "round_robin":
            assert owned == [i % ranks for i in range(7)]
        if owners is owner_of:
            assert owned == [i * i % ranks for i in range(7)]


async def squares(g):
    a = ix.Distributed(g, (3, 2), 5, owners=lambda i, ranks: (i[0] + i[1]) % ranks)
    k = ix.Kernels(STEP)
    for x in range(3):
        for y in range(2):
            g.submit(fill, ix.write(a[x, y]), 8 * x + y)
            t = g.submit(k.halve, 5, a[x, y], over=5)
            assert (t is None) == (a[x, y].owner != g.rank)
    g.migrate(a[0, 0], g.num_ranks - 1)
    assert a[0, 0].owner == g.num_ranks - 1
    g.submit(k.halve, 5, a[0, 0], over=5, rank=0)
    g.evict(a[1, 1])
    await g.barrier()
    await g.done()
    return [float((await g.values(x)).sum()) for x in a]


@needs_compiler
@over_ranks
def test_kernels_and_owners_that_change(words):
    @job(*words, pes=None)
    async def main(rt):
        assert await ix.run_graph(rt, squares) == [0, 20, 40, 2.5, 22.5, 42.5]


def add(x, value):
    x += value


async def sums(g):
    a = ix.Distributed(g, 6, 4, "int32", owners="round_robin")
    total, top = ix.Distributed(g, 1, 4, "int32", owners=g.num_ranks - 1), ix.Distributed(g, 1, 4)
    for i in range(6):
        g.submit(fill, ix.write(a[i]), i)
    g.submit(fill, ix.write(total[0]), 1000)
    for _ in range(3):
        for i in range(6):
            g.submit(add_both, ix.read(a[i]), ix.reduce(total[0], ix.sum))
            g.submit(keep_larger, ix.read(a[i]), ix.reduce(top[0], ix.max))
    g.submit(add, ix.reduce(total[0], ix.max), 77)  # on its own, where the object is
    seen = ix.Distributed(g, 1, (2, 4), "uint8", owners=g.num_ranks - 1)
    for i in range(6):
        g.submit(set_bit, ix.read(a[i]), ix.reduce(seen[0], np.bitwise_or, 2))
        g.submit(set_bit, ix.read(a[i]), ix.reduce(seen[0], either, 2, identity=[0, 0, 0, 0]))
    await g.done()
    assert ((await g.values(seen[0])) == 63).all()
    return int((await g.values(total[0]))[0]), float((await g.values(top[0]))[3])


def set_bit(x, into):
    into |= (1 << x).astype("u1")


def either(a, b):
    return a | b


def add_both(x, into):
    into += x


def keep_larger(x, into):
    np.maximum(into, x, out=into)


@over_ranks
def test_reductions_over_ranks(words):
    @job(*words, pes=None)
    async def main(rt):
        assert await ix.run_graph(rt, sums) == (1045, 5)


def shape_of(i):
    return (i + 1, 2) if i % 3 else 3 * i


def end_of(x, y):
    """Where both have something."""
    n = min(x.size, y.size)
    y.reshape(-1)[:n] += 2 * x.reshape(-1)[:n]
    return n


async def sizes(g, n, owners):
    a = ix.Distributed(g, n, shape_of, "int64", owners=owners)
    tiles = ix.Distributed(g, (3, 2), lambda i: (i[0] + 1, 2 * i[1]), "uint8", owners=owners)
    assert a.shape is None and [x.shape for x in a] == [(i + 1, 2) if i % 3 else (3 * i,) for i in range(n)]
    assert [x.shape for x in tiles] == [(x + 1, 2 * y) for y in range(2) for x in range(3)] and tiles[2, 1].nbytes == 6
    for i in range(n):
        g.submit(fill, ix.write(a[i]), i)
    for t in tiles:
        g.submit(fill, ix.write(t), 3)
        g.submit(add, ix.reduce(t, np.bitwise_or, 2), 4)
    for _ in range(3):
        for i in range(n):
            t = g.submit(end_of, ix.read(a[i]), a[(i + 1) % n])
            assert t is None or await t == min(a[i].nbytes, a[(i + 1) % n].nbytes) // 8
    g.migrate(a[n - 1], 0)
    longest = ix.Distributed(g, 1, lambda i: 3 * n, "int64", owners=g.num_ranks - 1)
    assert longest.shape == (3 * n,)
    for x in a:
        g.submit(end_of, ix.read(x), ix.reduce(longest[0], ix.sum))
    for t in tiles:
        assert (await g.values(t)).tolist() == np.full(t.shape, 7).tolist()
    return [await g.values(x) for x in a] + [await g.values(longest[0])]


def sizes_in_sequence(n):
    a = [np.full(shape_of(i), i) for i in range(n)]
    for _ in range(3):
        for i in range(n):
            end_of(a[i], a[(i + 1) % n])
    longest = np.zeros(3 * n, int)
    for x in a:
        end_of(x, longest)
    return [*a, longest]


@over_ranks
@pytest.mark.parametrize("owners", ["block", "round_robin", owner_of])
def test_objects_of_several_sizes(words, owners):
    @job(*words, pes=None)
    async def main(rt):
        found = await ix.run_graph(rt, sizes, 8, owners if owners != owner_of else 0)
        assert all((x == y).all() and x.shape == y.shape for x, y in zip(found, sizes_in_sequence(8), strict=True))


def divides(x):
    raise ZeroDivisionError("on purpose")


async def fails_on_the_last(g):
    a = ix.Distributed(g, g.num_ranks, 3)
    g.submit(divides, ix.write(a[g.num_ranks - 1]), name="divides")
    g.submit(mix, ix.read(a[g.num_ranks - 1]), ix.write(a[0]))
    await g.done()


def cannot(a, b):
    raise ZeroDivisionError("on purpose, when combining")


async def fails_when_combining(g):
    a, total = ix.Distributed(g, 5, 4, owners="round_robin"), ix.Distributed(g, 1, 4)
    for i in range(5):
        g.submit(fill, ix.write(a[i]), i)
        g.submit(add_both, ix.read(a[i]), ix.reduce(total[0], cannot, identity=0))
    await g.values(total[0])


async def differs(g):
    a = ix.Distributed(g, 2, 3)
    for _ in range(1 + g.rank):
        g.submit(fill, ix.write(a[0]), 1)


async def raises(g):
    raise KeyError(f"rank {g.rank}")


async def makes_others(g, shape, dtype, owners):
    a = ix.Distributed(g, 2, 3 + g.rank if shape else 3, "f4" if dtype and g.rank else "f8",
                       owners=(lambda i, ranks: (i + g.rank) % ranks) if owners else "round_robin")
    for i in range(2):
        g.submit(fill, ix.write(a[i]), i)
    g.submit(add_first, ix.read(a[0]), a[1])
    return await g.values(a[1])


def add_first(x, y):
    y[0] += x[0]


@pytest.mark.parametrize("words", RANKS[1:], ids=" ".join)
@pytest.mark.parametrize("which", range(3))
def test_objects_that_differ_over_ranks_are_told(words, which):
    @job(*words, pes=None)
    async def main(rt):
        with pytest.raises(ix.Error, match="have made different objects"):
            await ix.run_graph(rt, makes_others, *(i == which for i in range(3)))


left = []


async def leaves(g):
    left.append((g, ix.Distributed(g, 2, 3)))


@over_ranks
def test_failures_arrive(words):
    @job(*words, pes=None)
    async def main(rt):
        with pytest.raises((ix.Error, ZeroDivisionError), match="on purpose"):
            await ix.run_graph(rt, fails_on_the_last)
        with pytest.raises(ix.Error, match="on purpose, when combining"):
            await ix.run_graph(rt, fails_when_combining)
        with pytest.raises(KeyError, match="rank"):
            await ix.run_graph(rt, raises)
        if rt.num_ranks > 1:
            with pytest.raises(ix.UsageError):
                await ix.run_graph(rt, differs)
        assert await ix.run_graph(rt, ring, 2, 1, "block") is not None


async def never_ends(g):
    a, b = ix.Distributed(g, 1, 3, owners=1), ix.Distributed(g, 1, 3, owners=0)
    if g.rank == 0:  # and rank 1 sends nothing
        g.submit(mix, ix.read(a[0]), ix.write(b[0]))
    await g.done()


def test_reports_and_traces_name_the_coroutine(capfd, tmp_path):
    async def main(rt):
        await ix.run_graph(rt, never_ends)

    assert ix.run(main, ["--imbrex-ranks=2"]) == 70
    said = capfd.readouterr().err
    assert "never_ends of graph(0) waits for all tasks" in said and "imbrex_python" not in said

    @job("--imbrex-ranks=2", f"--imbrex-trace={tmp_path / 'trace.json'}")
    async def traced(rt):
        await ix.run_graph(rt, ring, 4, 2, "round_robin")

    names = set()
    for trace in tmp_path.glob("trace*.json"):
        names |= {e.get("name") for e in json.loads(trace.read_text())["traceEvents"]}
    assert {"ring", "data for a graph"} <= names
    assert not [n for n in names if n and n.endswith(("::run", "::take", "::lost"))]


async def mistakes(g):
    a = ix.Distributed(g, 2, 3)
    x = ix.Object(3)
    for wrong, words in [
        (lambda: a[2], "there is none"),
        (lambda: a[0, 0], "there is none"),
        (lambda: ix.Distributed(g, 2, 3, owners="mine"), "belong to"),
        (lambda: ix.Distributed(g, 2, 3, owners=77), "there are ranks 0 to"),
        (lambda: ix.Distributed(g, (1, 1, 1, 1), 3), "one to three dimensions"),
        (lambda: ix.Distributed(g, 2, (3, -1)), "none negative"),
        (lambda: ix.Distributed(g, 3, lambda i: 1 - i), "object 2 of a Distributed of shape -1"),
        (lambda: ix.Distributed(g, 3, lambda i: None), "object 0 of a Distributed of shape None"),
        (lambda: g.submit(fill, ix.write(ix.Distributed(g, 2, 3)), 1), "for an imbrex.Object"),
        (lambda: ix.submit(fill, ix.write(a[0]), 1), "for g.submit"),
        (lambda: g.submit(fill, ix.write(x), 1), "for g.submit"),
        (lambda: g.submit(fill, ix.reduce(a[1], ix.concatenate), 1), "does not reduce by"),
    ]:
        with pytest.raises(ix.UsageError, match=words):
            wrong()


def test_mistakes_are_named():
    @job()
    async def main(rt):
        await ix.run_graph(rt, mistakes)
        await ix.run_graph(rt, leaves)
        g, a = left.pop()
        with pytest.raises(ix.UsageError, match="this graph is over"):
            g.submit(fill, ix.write(a[0]), 1)
        with pytest.raises(ix.UsageError, match="takes an `async def"):
            ix.run_graph(rt, fill)


PROGRAM = """
import imbrex as ix
from test_graphs import ring, ring_in_sequence, sizes, sizes_in_sequence, squares, sums

async def main(rt):
    found, owned, ranks = await ix.run_graph(rt, ring, 11, 5, "round_robin")
    assert found == ring_in_sequence(11, 5) and ranks == rt.num_ranks == RANKS
    assert await ix.run_graph(rt, squares) == [0, 20, 40, 2.5, 22.5, 42.5]
    assert await ix.run_graph(rt, sums) == (1045, 5)
    found = await ix.run_graph(rt, sizes, 8, "round_robin")
    assert all((x == y).all() for x, y in zip(found, sizes_in_sequence(8), strict=True))
    print("all is well")

raise SystemExit(ix.run(main))
"""


@needs_compiler
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_over_processes(tmp_path, ranks):
    assert "all is well" in run_over_processes(tmp_path, PROGRAM.replace("RANKS", str(ranks)), ranks)
