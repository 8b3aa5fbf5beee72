"""Objects and tasks that all PEs of a process use."""

import gc
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import imbrex as ix
from job import job, missing

SHAPES = [["--imbrex-pes=1"], ["--imbrex-pes=2"], ["--imbrex-pes=4"], ["--imbrex-pes=3", "--imbrex-schedule-seed=5"],
          ["--imbrex-pes=2", "--imbrex-ranks=2"]]
over_pes = pytest.mark.parametrize("words", SHAPES, ids=" ".join)
needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
KERNEL = """
IX_KERNEL(more, (int n, int by, IX_GLOBAL long* x)) { IX_ITEMS_BELOW(n) { x[IX_GLOBAL_ID(0)] += by; } }
"""


def fill(x, value):
    x.fill(value)


def add(x, value):
    x += value


class Adder(ix.Chare):
    def __init__(self, kept=None):
        self.kept = kept

    async def work(self, x, times):
        for i in range(times):
            last = ix.submit(add, x if i % 2 else ix.commute(x), 1)
        await last
        seen = await x.get()
        assert (seen >= times).all()
        self.contribute(1, ix.sum)

    async def work_on_kept(self):
        await ix.submit(add, self.kept[self.index:self.index + 1], 5)
        self.contribute(self.kept, lambda a, b: a)

    async def parts(self, x):
        mine = x[self.index * 4:(self.index + 1) * 4]
        ix.submit(fill, ix.write(mine), self.index)
        ix.submit(add, mine[1:3], 10)
        kernels = ix.Kernels(KERNEL)
        t = ix.submit(kernels.more, 4, 100, mine, over=4, after=[ix.submit(add, mine[:1], 1)])
        async with mine.host("read_write") as a:
            a *= 2
        async with mine.host() as a:
            found = a.tolist()
        await t
        self.contribute(found == [2 * (n + 100 + self.index) for n in (1, 10, 10, 0)], min)

    async def make(self, n):
        all = await ix.process_domain()
        found = 0
        made = []
        for i in range(n):
            x = ix.Object(10, "int64", domain=all)
            ix.submit(fill, ix.write(x), i)
            ix.submit(add, x[2:6][1:3], 7)
            made.append(x)
            await all.fewer_than(20)
        y = ix.Object.of(np.arange(3), domain=all)
        await all.all_over()
        for x in made:
            found += int((await x.get()).sum())
        own = ix.Object(5)  # of this PE alone, as ever
        ix.submit(fill, ix.write(own), 1)
        return found + int((await own.get()).sum()) + int((await y.get()).sum()), made[-1], y[1:]


@over_pes
def test_all_pes_change_an_object(words):
    @job(*words, pes=None)
    async def main(rt):
        all = await ix.process_domain()
        x = ix.Object(3, "int64", domain=all)
        ix.submit(fill, ix.write(x), 0)
        adders = rt.create_array(Adder, 2 * rt.pes_per_rank)
        if rt.num_ranks > 1:  # of this process
            for i in range(rt.pes_per_rank):
                adders[i].send.work(x, 50)
            await rt.quiescence()
            assert (await x.get() == 50 * rt.pes_per_rank).all()
            return
        for i in range(2 * rt.num_pes):
            adders[i].send.work(x, 50)
        await adders.reduction()
        assert (await x.get() == 100 * rt.num_pes).all()
        adders.broadcast.work(x, 10)  # pickled, and the same Object
        await adders.reduction()
        assert (await x.get() == 120 * rt.num_pes).all()


@needs_compiler
@over_pes
def test_parts_views_kernels_and_arguments_of_constructors(words):
    @job(*words, pes=None)
    async def main(rt):
        if rt.num_ranks > 1:
            return
        x = ix.Object.of(np.zeros(8 * rt.num_pes, "int64"), domain=await ix.process_domain())
        adders = rt.create_array(Adder, 2 * rt.num_pes, x)
        adders.broadcast.work_on_kept()
        assert await adders.reduction() is x
        assert (await x.get()).tolist() == [5] * (2 * rt.num_pes) + [0] * (6 * rt.num_pes)
        adders.broadcast.parts(x)
        assert await adders.reduction()


@over_pes
def test_objects_are_made_on_any_pe(words):
    @job(*words, pes=None)
    async def main(rt):
        makers = rt.create_array(Adder, rt.num_pes)
        for i in range(rt.pes_per_rank):
            found, last, end = await makers[i].call.make(30)
            assert found == 10 * (30 * 29 // 2) + 14 * 30 + 5 + 3
            ix.submit(add, last, 1)  # the newest of these, made there, here
            assert (await last.get()).tolist() == [30] * 3 + [37] * 2 + [30] * 5
            assert (await end.get()).tolist() == [1, 2]
            del last, end
            gc.collect()


class Player(ix.Chare):
    """Does something with the objects, and gives a token on, which knows what should have come out."""

    def begin(self, objects):
        self.objects = objects
        self.last = None

    async def play(self, seed, model, hops):
        rand = random.Random(seed)
        checks = []
        for _ in range(rand.randrange(5)):
            await self.turn(rand, model, checks)
        if hops > 0:
            self.array[rand.randrange(self.extent)].send.play(rand.random(), [list(m) for m in model], hops - 1)
        for t, expected in checks:
            assert await t == expected

    async def turn(self, rand, model, checks):
        i, j = rand.sample(range(len(model)), 2)
        x, y, n = self.objects[i], self.objects[j], len(model[i])
        how = rand.randrange(7)
        if how == 0:
            value = rand.randrange(1000)
            ix.submit(fill, ix.write(x), value, priority=rand.randrange(3))
            model[i][:] = [value] * n
        elif how == 1:
            ix.submit(mix, x, ix.read(y))
            model[i][:] = [(5 * a + b) % 1009 for a, b in zip(model[i], model[j])]
        elif how == 2:
            first = rand.randrange(n)
            ix.submit(add, x[first:], first)
            model[i][first:] = [a + first for a in model[i][first:]]
        elif how == 3:
            checks.append((ix.submit(lambda a: a.tolist(), ix.read(x)), list(model[i])))
        elif how == 4:
            async with x.host("read_write") as a:
                assert a.tolist() == model[i]
                a *= 3
            model[i][:] = [3 * a for a in model[i]]
        elif how == 5:
            x.evict()
            x.prefetch("host")
        else:
            self.last = ix.submit(add, ix.commute(y), 9, after=[self.last] if self.last else [])
            model[j][:] = [a + 9 for a in model[j]]


def mix(to, other):
    to[...] = (5 * to + other) % 1009


@pytest.mark.parametrize("seed", range(8))
def test_the_order_is_what_messages_say(seed):
    pes = 1 + seed % 4

    @job(f"--imbrex-pes={pes}", *([f"--imbrex-schedule-seed={seed}"] if seed > 3 else []), pes=None)
    async def main(rt):
        objects = [ix.Object.of(np.ones(40, "int64"), domain=await ix.process_domain()) for _ in range(5)]
        players = rt.create_array(Player, pes + 2)
        for i in range(pes + 2):
            await players[i].call.begin(objects)
        players[0].send.play(seed, [[1] * 40 for _ in objects], 60)
        del objects
        await rt.quiescence()


def fails(x):
    raise ZeroDivisionError("on purpose")


class Failing(ix.Chare):
    async def fail(self, x):
        bad = ix.submit(fails, x, name="bad")
        after = ix.submit(add, x, 1, name="after")
        with pytest.raises(ix.Error, match="'bad'"):
            await after
        with pytest.raises(ZeroDivisionError, match="on purpose") as thrown:
            await bad
        assert "in fails" in str(thrown.value.__cause__)
        with pytest.raises(ix.Error, match="on purpose"):
            await x.get()
        all = await ix.process_domain()
        with pytest.raises(ix.Error, match="nobody has written it"):
            await ix.submit(add, ix.Object(2, domain=all), 1)
        with pytest.raises(ix.UsageError, match="give at least 1"):
            all.fewer_than(0)
        if self.pe != 0:
            own = ix.Object.of(np.zeros(3))
            for wrong, words in [
                (lambda: ix.submit(mix, x, own), "several PEs"),
                (lambda: ix.submit(mix, own, x), "another PE"),
                (lambda: bad.done, "another PE"),
                (lambda: bad.cancel(), "another PE"),
                (lambda: ix.submit(add, ix.reduce(x, ix.sum), 1), "another PE"),
                (lambda: ix.submit(add, ix.reduce(x, np.add), 1), "another PE"),
                (lambda: own.__reduce__(), "belongs to its PE"),
            ]:
                with pytest.raises(ix.UsageError, match=words):
                    wrong()
            with pytest.raises(ix.UsageError, match="objects of its own PE"):
                with ix.record():
                    ix.submit(add, x, 1)
        ix.submit(fails, ix.write(x), name="worse")
        with pytest.raises(ix.Error, match="on purpose"):
            await all.all_over()
        ix.submit(fill, ix.write(x), 0)


@pytest.mark.parametrize("pes", [1, 3])
def test_failures_and_mistakes(pes):
    @job(pes=pes)
    async def main(rt):
        x = ix.Object.of(np.zeros(3), domain=await ix.process_domain())
        each = rt.create_array(Failing, pes)
        for i in range(pes):
            await each[i].call.fail(x)
        assert (await x.get() == 0).all()
        ix.submit(add, ix.reduce(x, ix.sum), 3)  # of the first PE
        with ix.record() as w:
            ix.submit(add, x, 1)
        w.replay()
        assert (await x.get() == 4).all()


def test_a_failure_that_nobody_awaits_is_reported(capfd):
    async def main(rt):
        x = ix.Object.of(np.zeros(3), domain=await ix.process_domain())
        rt.create_array(Careless, 2)[1].send.submit(x)

    assert ix.run(main, ["--imbrex-pes=2"]) == 70
    assert "on purpose" in capfd.readouterr().err


class Careless(ix.Chare):
    def submit(self, x):
        ix.submit(fails, x)

    def take(self, x):
        pass


kept = []


def test_an_object_leaves_neither_its_process_nor_its_job():
    @job("--imbrex-ranks=2", "--imbrex-pes=1")
    async def main(rt):
        domain = await ix.process_domain()
        x = ix.Object.of(np.zeros(3), domain=domain)
        kept.extend([x, domain])
        far = rt.create_array(Careless, 2)[1]
        with pytest.raises(ix.UsageError, match="another PE"):
            await far.call.submit(x)
        with pytest.raises(ix.UsageError, match="another process"):
            await rt.create_array(Maker, 2)[1].call.make()
        await x.get()

    @job()
    async def again(rt):
        for wrong in (lambda: ix.submit(add, kept[0], 1), lambda: ix.Object(3, domain=kept[1])):
            with pytest.raises(ix.UsageError, match="job that has ended"):
                wrong()
        kept.clear()


class Maker(ix.Chare):
    def make(self):
        ix.Object(3, domain=kept[1])


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np, imbrex as ix
from test_process_domain import Adder, Careless

async def main(rt):
    x = ix.Object.of(np.zeros(4, "int64"), domain=await ix.process_domain())
    workers = rt.create_array(Adder, rt.num_pes)
    mine = rt.num_pes // rt.num_ranks
    for i in range(mine):
        await workers[i].call.work(x, 10)
    assert (await x.get() == 10 * mine).all()
    try:
        await rt.create_array(Careless, rt.num_pes)[rt.num_pes - 1].call.take(x)
    except (ix.UsageError, ix.RemoteError) as e:
        assert "was sent to another process" in str(e), e
        print("all is well")

raise SystemExit(ix.run(main, ["--imbrex-pes=2"]))
"""


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")
def test_over_processes(tmp_path):
    if missing("--imbrex-transport=mpi"):
        pytest.skip(missing("--imbrex-transport=mpi"))
    program = tmp_path / "far.py"
    program.write_text(PROGRAM.format(folder=str(Path(__file__).parent)))
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       PYTHONPATH=os.pathsep.join([str(Path(ix.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", sys.executable, "-B", str(program)],
                          capture_output=True, text=True, env=environment, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all is well" in done.stdout
