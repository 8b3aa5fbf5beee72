"""Objects, tasks on them, and kernels from strings."""

import gc
import os
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import imbrex as ix
from job import job

SAXPY = """
IX_KERNEL(saxpy, (int n, float a, IX_GLOBAL const float* x, IX_GLOBAL float* y)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); y[i] += a * x[i]; }
}
IX_KERNEL_OF_GROUP(rows, (8, 4, 1), (int nx, int ny, IX_GLOBAL double* x)) {
  IX_ITEMS_BELOW_2(nx, ny) { x[IX_GLOBAL_ID(1) * nx + IX_GLOBAL_ID(0)] = 10 * IX_GLOBAL_ID(1) + IX_GLOBAL_ID(0); }
}
"""
needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


class Worker(ix.Chare):
    async def work(self):
        x = ix.Object(100)
        ix.submit(lambda a, i: a.fill(i), ix.write(x), self.index)
        for _ in range(20):
            ix.submit(lambda a: np.add(a, 1, out=a), x)
        self.contribute(await ix.submit(lambda a: float(a.sum()), ix.read(x)), ix.sum)


class Other(ix.Chare):
    def take(self, kept):
        with pytest.raises(ix.UsageError, match="another PE"):
            ix.submit(lambda a: 0, kept[0])
        kept.clear()  # given up on this PE, though it belongs to the other


class Member(ix.Chare):
    async def work(self, section, factor):
        self.contribute(factor * self.index, ix.sum, section=section)
        assert await self.allreduce(1, ix.sum, section=section) == 3


class Alone(ix.Chare):
    def work(self):
        self.contribute(1, ix.sum, section=3)


held, owner, dropped = [], [], []


class Holder(ix.Chare):
    async def make(self):
        x = ix.Object(40_000_000, "u1")
        ix.submit(lambda a: a.fill(1), ix.write(x))
        await ix.all_tasks()
        held.append(x)
        owner[:] = [threading.get_ident()]

    def resident_mb(self):
        ix.submit(lambda a: a.fill(1), ix.write(ix.Object(3)))  # what was left to this PE is done
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def drop_on_the_owners_thread():
    time.sleep(0.002)
    if held and threading.get_ident() == owner[0]:
        held.clear()
        dropped.append(1)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is asked of Linux")
def test_an_object_that_a_task_of_another_pe_gives_up_is_gone():
    """As the garbage collector may, whoever's task runs."""

    @job(pes=2)
    async def main(rt):
        holders = rt.create_array(Holder, 2)
        before = await holders[1].call.resident_mb()
        for _ in range(10):
            await holders[1].call.make()
            for _ in range(20):
                ix.submit(drop_on_the_owners_thread)
            await ix.all_tasks()
            held.clear()
            await holders[0].call.resident_mb()
            after = await holders[1].call.resident_mb()
        assert after - before < 150 or not dropped


def add(x, y, factor):
    y += factor * x


def test_functions_run_in_the_order_of_their_objects():
    @job()
    async def main(rt):
        x, y = ix.Object(5), ix.Object.of(np.arange(5.0))
        ix.submit(lambda a: a.fill(2), ix.write(x))
        ix.submit(add, ix.read(x), y, 10)
        t = ix.submit(lambda a: float(a.sum()), ix.read(y))
        assert await t == 10 + 5 * 20
        assert t.done and "host" in t.where
        async with y.host() as a:
            assert a.tolist() == [20, 21, 22, 23, 24]
            assert not a.flags.writeable
        async with y.host("read_write") as a:
            a[0] = -1
        assert (await y.get())[0] == -1


def test_shapes_types_and_rows():
    @job()
    async def main(rt):
        x = ix.Object.of(np.arange(24, dtype="int16").reshape(6, 4))
        assert (x.shape, x.dtype.name, len(x), x.size, x.nbytes, x.ndim) == ((6, 4), "int16", 6, 24, 48, 2)
        rows = x[2:4]
        assert rows.shape == (2, 4)
        ix.submit(lambda a: np.negative(a, out=a), rows)
        expected = np.arange(24).reshape(6, 4)
        expected[2:4] *= -1
        assert (await x.get() == expected).all()
        for wrong in (lambda: x[3], lambda: x[::2], lambda: x[4:4]):
            with pytest.raises(ix.UsageError):
                wrong()
        assert (await ix.Object.of(np.zeros((0, 3))).get()).shape == (0, 3)
        with pytest.raises(ix.UsageError, match="nobody has written it"):
            await ix.Object(3).get()


def test_chares_on_every_pe_have_objects_and_tasks_of_their_own():
    @job(pes=4)
    async def main(rt):
        workers = rt.create_array(Worker, 8)
        workers.broadcast.work()
        assert await workers.reduction() == 100 * (sum(range(8)) + 8 * 20)


def fails(x):
    raise ZeroDivisionError("on purpose")


def test_what_a_task_throws_is_thrown_where_it_is_awaited():
    @job()
    async def main(rt):
        x = ix.Object(3)
        t = ix.submit(fails, ix.write(x), name="divides")
        with pytest.raises(ZeroDivisionError, match="on purpose") as thrown:
            await t
        assert "in fails" in str(thrown.value.__cause__)
        with pytest.raises(ix.Error, match="divides"):  # what should have been written was not
            await ix.submit(lambda a: None, ix.read(x))


def test_a_failure_that_nobody_awaits_is_reported(capfd):
    async def main(rt):
        ix.submit(fails, ix.write(ix.Object(3)), name="divides")
        await rt.quiescence()

    assert ix.run(main, []) != 0
    assert "on purpose" in capfd.readouterr().err


def test_a_function_that_keeps_its_array_is_told():
    @job()
    async def main(rt):
        kept = []
        x = ix.Object.of(np.zeros(4))
        with pytest.raises(ix.UsageError, match="keeps an array"):
            await ix.submit(lambda a: kept.append(a[1:]), ix.read(x))
        assert await ix.submit(lambda a: kept.append(a.copy()), x) is None
        assert (await ix.submit(lambda a: np.add(a, 1, out=a)[1:], x)).tolist() == [1, 1, 1]  # a copy


def test_mistakes_are_named():
    async def coroutine(a):
        pass

    @job()
    async def main(rt):
        x = ix.Object(3)
        for wrong, words in [
            (lambda: ix.submit(coroutine, x), "is a coroutine"),
            (lambda: ix.submit(3, x), "a task is a function"),
            (lambda: ix.submit(lambda a: 0, x, over=3), "for kernels"),
            (lambda: ix.read(3), "is for an imbrex.Object"),
            (lambda: x.host("commute"), "place in the order"),
            (lambda: x.host("w"), "no access mode 'w'"),
            (lambda: ix.submit(lambda a: 0, x, on="gpu"), "no device 'gpu'"),
            (lambda: ix.Object(-1), "not negative"),
            (lambda: x.__reduce__(), "belongs to its PE"),
        ]:
            with pytest.raises(ix.UsageError, match=words):
                wrong()
        with pytest.raises(ix.Error):
            await ix.submit(lambda a: 0, x, on="cuda", number=77)
        x.release()
        with pytest.raises(ix.UsageError, match="released"):
            ix.submit(lambda a: 0, x)


def test_objects_outlive_their_job_and_go_anywhere():
    left = []

    @job(pes=2)
    async def main(rt):
        left.append(ix.Object.of(np.ones(1000)))
        left.append(ix.submit(lambda a: 0, left[0]))
        left.append(left[0].host())
        others = rt.create_array(Other, 2)
        for _ in range(50):
            x = ix.Object.of(np.ones(10))
            given = [x]
            del x
            others[1].send.take(given)
        await rt.quiescence()
        await ix.Object.of(np.ones(10)).get()

    with pytest.raises(ix.UsageError, match="inside of a job"):
        left[0].evict()
    left.clear()
    gc.collect()

    @job()
    async def again(rt):
        assert (await ix.Object.of(np.ones(2)).get()).sum() == 2


@needs_compiler
@pytest.mark.parametrize("device", ["host", "opencl"])
def test_kernels_from_strings(device):
    words = [] if device == "host" else ["--imbrex-device=opencl"]

    @job(*words)
    async def main(rt):
        k = ix.Kernels(SAXPY)
        x, y = ix.Object.of(np.full(1000, 2, "f4")), ix.Object.of(np.ones(1000, "f4"))
        t = ix.submit(k.saxpy, 1000, 3.0, x, y, over=1000)
        assert (await y.get() == 7).all()
        z = ix.Object((5, 9))
        ix.submit(k.rows, 9, 5, ix.write(z), over=(9, 5))
        assert (await z.get() == 10 * np.arange(5)[:, None] + np.arange(9)).all()
        ix.submit(k.saxpy, 1000, np.float32(1), x, y, groups=8, group=128, name="again", on=device)
        assert (await y.get() == 9).all()
        await t
        assert "saxpy" in dir(k) and repr(k.rows) == "<kernel rows(nx, ny, x)>"

    del main


@needs_compiler
def test_kernels_say_what_does_not_fit():
    @job()
    async def main(rt):
        k = ix.Kernels(SAXPY, "saxpy.txt")
        x, y, z = ix.Object(4, "f4"), ix.Object(4, "f4"), ix.Object(4)
        for wrong, words in [
            (lambda: ix.submit(k.saxpy, 4, x, y, over=4), "has 4 parameters .n, a, x, y., and was given 3"),
            (lambda: ix.submit(k.saxpy, 4.5, 1, x, y, over=4), "parameter 'n' .* is of type int"),
            (lambda: ix.submit(k.saxpy, 2**31, 1, x, y, over=4), "does not fit"),
            (lambda: ix.submit(k.saxpy, 4, 1e300, x, y, over=4), "does not fit"),
            (lambda: ix.submit(k.saxpy, 4, 1.0, x, y, over=0), "over=0: over one item at least"),
            (lambda: ix.submit(k.saxpy, 4, 1, x, z, over=4), "points to float, and the Object has float64"),
            (lambda: ix.submit(k.saxpy, 4, 1, np.zeros(4), y, over=4), "takes an imbrex.Object"),
            (lambda: ix.submit(k.saxpy, 4, 1, ix.write(x), y, over=4), "parameter 3 of kernel 'saxpy' is const"),
            (lambda: ix.submit(k.saxpy, 4, 1, x, y), "say how it is spread"),
            (lambda: ix.submit(k.saxpy, 4, 1, x, y, groups=1), "of how many items"),
            (lambda: ix.submit(k.rows, 2, 2, z, groups=1, group=7), "it is written for"),
            (lambda: ix.Kernels("int x;"), "has no kernel"),
            (lambda: ix.Kernels("IX_KERNEL(k, (bool b)) {}"), "parameter 'bool b'"),
        ]:
            with pytest.raises(ix.UsageError, match=words):
                wrong()
        with pytest.raises(AttributeError, match="there is no kernel 'no': the text has saxpy, rows"):
            k.no
        broken = ix.Kernels("IX_KERNEL(broken, (IX_GLOBAL float* x)) {\n  IX_ITEMS { nonsense; }\n}", "mine.txt")
        with pytest.raises(ix.Error, match=r"mine.txt:2:"):
            await ix.submit(broken.broken, ix.write(x), over=1, on="host")


def test_sections():
    @job(pes=2)
    async def main(rt):
        all = rt.create_array(Member, 10)
        some = all.section([2, 5, 7])
        some.broadcast.work(some, 10)
        assert await some.reduction() == 140
        some.free()
        with pytest.raises(ix.UsageError, match="no section"):
            await rt.create_array(Alone, 1)[0].call.work()
