"""Random graphs of tasks, as they run and one task after the other: functions, kernels, reductions, by operations of one's own too, and windows of these, on whole
objects and rows of them, with views in between, evictions, and handles that go; and on the objects of a graph over ranks."""

import random
import shutil

import numpy as np
import pytest

import imbrex as ix
from job import job

KERNELS = """
IX_KERNEL(mixed, (int n, IX_GLOBAL double* out, IX_GLOBAL const double* a, IX_GLOBAL const double* b)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); out[i] = fmod(a[i] + 2 * b[i], 1009.0); }
}
IX_KERNEL(summed, (int n, IX_GLOBAL const double* a, IX_GLOBAL double* into)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); into[i] += fmod(a[i], 13.0); }
}
IX_KERNEL(summed_modulo, (int n, IX_GLOBAL const double* a, IX_GLOBAL double* into)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); into[i] = fmod(into[i] + a[i], 1009.0); }
}
IX_KERNEL(sums_modulo, (int n, IX_GLOBAL double* into, IX_GLOBAL const double* from)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); into[i] = fmod(into[i] + from[i], 1009.0); }
}
IX_KERNEL(largest, (int n, IX_GLOBAL const double* a, IX_GLOBAL double* into)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); if (a[i] > into[i]) into[i] = a[i]; }
}
"""
N, OBJECTS = 600, 4
MACHINES = [["--imbrex-pes=1"], ["--imbrex-pes=3"], ["--imbrex-pes=2", "--imbrex-schedule-seed=5"],
            ["--imbrex-device=opencl", "--imbrex-pes=1"],
            ["--imbrex-machine=h200-x4", "--imbrex-device=cuda", "--imbrex-pes=1"],
            ["--imbrex-pes=2", "--imbrex-task-memory-mb=1"]]
needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


def mix(out, a, b):
    out[...] = (a + 2 * b) % 1009


def add(a, into):
    into += a % 13


def keep_larger(a, into):
    np.maximum(into, a, out=into)


def add_modulo(a, into):
    into[...] = (into + a) % 1009


def both_modulo(a, b):
    return (a + b) % 1009


def both_modulo_in_place(a, b):
    add_modulo(b, a)


# What a task does, by a function and by a kernel, and what makes the use of what it reduces into.
REDUCTIONS = [(add, "summed", lambda x, parts, kernels: ix.reduce(x, ix.sum, parts)),
              (keep_larger, "largest", lambda x, parts, kernels: ix.reduce(x, ix.max, parts)),
              (keep_larger, "largest", lambda x, parts, kernels: ix.reduce(x, np.fmax, parts, identity=-np.inf)),
              (add_modulo, "summed_modulo", lambda x, parts, kernels: ix.reduce(x, both_modulo, parts, identity=0)),
              (add_modulo, "summed_modulo", lambda x, parts, kernels: ix.reduce(x, kernels.sums_modulo, parts, identity=0)),
              (add_modulo, "summed_modulo",
               lambda x, parts, kernels: ix.reduce(x, both_modulo_in_place, parts, identity=0, by=kernels.sums_modulo))]


def random_task(rand, kernels):
    """What submits it, to `submit` with objects of a list, and what does the same to a list of arrays."""
    out, a, b = rand.sample(range(OBJECTS), 3)
    rows = slice(0, N)
    if rand.random() < 0.4:
        first = rand.randrange(N - 50)
        rows = slice(first, first + rand.randrange(1, 50))
    n = rows.stop - rows.start
    by_kernel, urgency = rand.random() < 0.5, rand.randrange(3)
    shape = {"over": n, "group": rand.choice([1, 7, 64])}

    def part(objects, i):
        return objects[i][rows] if n < N else objects[i]

    if rand.random() < 0.4:
        function, kernel, reduce = rand.choice(REDUCTIONS)
        parts = rand.choice([1, 3, 8])

        def submit(objects):
            into = reduce(part(objects, out), parts, kernels)
            if by_kernel:
                return ix.submit(getattr(kernels, kernel), n, part(objects, a), into, priority=urgency, **shape)
            return ix.submit(function, ix.read(part(objects, a)), into, priority=urgency)

        return submit, lambda arrays: function(arrays[a][rows], arrays[out][rows])

    overwrites = rand.random() < 0.5

    def submit(objects):
        to = ix.write(part(objects, out)) if overwrites else part(objects, out)
        if by_kernel:
            return ix.submit(kernels.mixed, n, to, part(objects, a), part(objects, b), priority=urgency, **shape)
        return ix.submit(mix, to, ix.read(part(objects, a)), ix.read(part(objects, b)), priority=urgency)

    return submit, lambda arrays: mix(arrays[out][rows], arrays[a][rows], arrays[b][rows])


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("words", MACHINES, ids=" ".join)
def test_random_graphs_give_what_sequential_execution_gives(seed, words):
    @job(*words, pes=None)
    async def main(rt):
        rand = random.Random(seed)
        kernels = ix.Kernels(KERNELS)
        expected = [np.full(N, i + 1.0) for i in range(OBJECTS)]
        objects = [ix.Object.of(e) for e in expected]
        windows = []
        for _ in range(80):
            how = rand.random()
            if how < 0.7:
                submit, do = random_task(rand, kernels)
                submit(objects)
                do(expected)
            elif how < 0.8 and len(windows) < 4:
                tasks = [random_task(rand, kernels) for _ in range(rand.randrange(1, 7))]
                with ix.record() as w:
                    for submit, _ in tasks:
                        submit(objects)
                windows.append((w, tasks))
            elif how < 0.9 and windows:
                w, tasks = rand.choice(windows)
                for _ in range(rand.randrange(1, 4)):
                    w.replay()
                    for _, do in tasks:
                        do(expected)
            else:
                out, a, b = rand.sample(range(OBJECTS), 3)
                async with objects[out].host("read_write") as x:
                    mix(x, expected[a], expected[b])
                mix(expected[out], expected[a], expected[b])
            if rand.random() < 0.05:
                rand.choice(objects).evict()
            if rand.random() < 0.05:
                rand.choice(objects).prefetch("host")
            if rand.random() < 0.05 and windows:
                windows.pop(rand.randrange(len(windows)))
            if rand.random() < 0.1:
                i = rand.randrange(OBJECTS)
                assert (await objects[i].get() == expected[i]).all()
        await ix.all_tasks()
        for o, e in zip(objects, expected):
            assert (await o.get() == e).all()


# ---------------------------------------------------------------------------------------------- over ranks


async def random_graph(g, seed):
    """On all ranks: gives the seed's tasks, and what the objects have at the end."""
    rand = random.Random(seed)
    kernels = ix.Kernels(KERNELS)
    num = 5
    a = ix.Distributed(g, num, 50, owners=rand.choice(["block", "round_robin", lambda i, ranks: (7 * i + seed) % ranks]))
    expected = [np.full(50, i + 1.0) for i in range(num)]
    for i in range(num):
        g.submit(fill, ix.write(a[i]), i + 1)
    for _ in range(60):
        x, y, z = rand.sample(range(num), 3)
        rank = rand.randrange(g.num_ranks) if rand.random() < 0.2 else -1
        by_kernel, how = rand.random() < 0.5, rand.random()
        if how < 0.4:
            function, kernel, reduce = rand.choice(REDUCTIONS)
            into = reduce(a[z], rand.choice([2, 8]), kernels)
            if by_kernel:
                g.submit(getattr(kernels, kernel), 50, a[x], into, over=50, rank=rank)
            else:
                g.submit(function, ix.read(a[x]), into, rank=rank)
            function(expected[x], expected[z])
        else:
            if by_kernel:
                g.submit(kernels.mixed, 50, ix.write(a[z]), a[x], a[y], over=50, rank=rank)
            else:
                g.submit(mix, a[z], ix.read(a[x]), ix.read(a[y]), rank=rank, priority=rand.randrange(3))
            mix(expected[z], expected[x], expected[y])
        if rand.random() < 0.1:
            g.migrate(a[x], rand.randrange(g.num_ranks))
        if rand.random() < 0.05:
            g.evict(a[y])
        if rand.random() < 0.05:
            assert (await g.values(a[y]) == expected[y]).all()
        if rand.random() < 0.05:
            await g.done()
    for i in range(num):
        assert (await g.values(a[i]) == expected[i]).all()


def fill(x, value):
    x.fill(value)


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("words", [["--imbrex-ranks=1", "--imbrex-pes=1"], ["--imbrex-ranks=2", "--imbrex-pes=1"],
                                   ["--imbrex-ranks=3", "--imbrex-pes=2", "--imbrex-schedule-seed=7"],
                                   ["--imbrex-machine=h200-x4", "--imbrex-device=cuda", "--imbrex-ranks=4", "--imbrex-pes=1"]],
                         ids=" ".join)
def test_random_graphs_over_ranks(seed, words):
    @job(*words, pes=None)
    async def main(rt):
        await ix.run_graph(rt, random_graph, seed)
