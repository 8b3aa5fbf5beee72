"""Windows of tasks: recorded once, replayed."""

import shutil

import numpy as np
import pytest

import imbrex as ix
from job import job

STEP = """
IX_KERNEL(relax, (int n, IX_GLOBAL const double* from, IX_GLOBAL double* to)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); to[i] = 0.5 * from[i] + from[(i + 1) % n]; }
}
"""
needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


def relax(source, to):
    to[...] = 0.5 * source + np.roll(source, -1)


def relaxed(a, steps):
    for _ in range(steps):
        a = 0.5 * a + np.roll(a, -1)
    return a


@pytest.mark.parametrize("pes", [1, 3])
def test_functions_are_called_again(pes):
    @job(pes=pes)
    async def main(rt):
        start = np.arange(10.0)
        x, y = ix.Object.of(start), ix.Object(10)
        with ix.record() as w:
            first = ix.submit(relax, ix.read(x), ix.write(y))
            ix.submit(relax, ix.read(y), ix.write(x), after=[first])
        assert w.num_tasks == 2 and w.in_order and w.num_devices == 0
        assert (await x.get() == start).all()  # nothing has run
        for _ in range(5):
            w.replay()
        await w.replay()
        assert (await x.get() == relaxed(start, 12)).all()
        with pytest.raises(ix.UsageError, match="recorded in a window"):
            await first


@needs_compiler
@pytest.mark.parametrize("words", [["--imbrex-pes=1"], ["--imbrex-pes=2"], ["--imbrex-device=opencl"],
                                   ["--imbrex-machine=h200-x4", "--imbrex-device=cuda"]], ids=" ".join)
def test_kernels_run_again(words):
    @job(*words, pes=None)
    async def main(rt):
        k = ix.Kernels(STEP)
        start = np.arange(100.0) % 7
        x, y = ix.Object.of(start), ix.Object(100)
        with ix.record() as w:
            ix.submit(k.relax, 100, x, ix.write(y), over=100)
            ix.submit(k.relax, 100, y, ix.write(x), over=100)
        for _ in range(3):
            w.replay()
            ix.submit(k.relax, 100, x, ix.write(y), over=100)  # between replays
            ix.submit(k.relax, 100, y, ix.write(x), over=100)
        assert (await x.get() == relaxed(start, 12)).all()


def test_reductions_are_combined_at_its_end():
    @job(pes=2)
    async def main(rt):
        x = ix.Object.of(np.zeros(4))
        with ix.record() as w:
            for i in range(10):
                ix.submit(lambda a, i: np.add(a, i, out=a), ix.reduce(x, ix.sum), i)
        for _ in range(3):
            w.replay()
        assert (await x.get() == 135).all()


def test_what_a_task_of_it_throws():
    def fails(a):
        raise ZeroDivisionError("on purpose")

    @job()
    async def main(rt):
        x = ix.Object(3)
        with ix.record() as w:
            ix.submit(fails, ix.write(x), name="divides")
        with pytest.raises(ix.Error, match="on purpose"):
            await w.replay()


class Waits(ix.Chare):
    async def work(self):
        with ix.record():
            await self.barrier()

    async def looks(self):
        x = ix.Object.of(np.zeros(3))
        with ix.record():
            async with x.host("read"):
                pass


def test_a_block_that_waits_or_fails_records_nothing():
    @job()
    async def main(rt):
        chares = rt.create_array(Waits, 1)
        for method in (chares[0].call.work, chares[0].call.looks):
            with pytest.raises(ix.UsageError, match="while a window is recorded"):
                await method()
        x = ix.Object.of(np.zeros(3))
        with pytest.raises(KeyError):
            with ix.record() as w:
                ix.submit(lambda a: a.fill(1), x)
                raise KeyError
        for wrong, words in [
            (w.replay, "once it has been recorded"),
            (lambda: ix.record().__exit__(None), "is not being recorded"),
        ]:
            with pytest.raises(ix.UsageError, match=words):
                wrong()
        with ix.record() as w:
            with pytest.raises(ix.UsageError, match="inside of another"):
                ix.record().__enter__()
            with pytest.raises(ix.UsageError, match="copies now"):
                ix.Object.of(np.zeros(3))
            ix.submit(lambda a: a.fill(2), x)
        await w.replay()
        assert (await x.get() == 2).all()
        with ix.record() as empty:
            pass
        await empty.replay()


def test_windows_outlive_their_job():
    left = []

    @job()
    async def main(rt):
        x = ix.Object.of(np.zeros(3))
        with ix.record() as w:
            ix.submit(lambda a: a.fill(2), x)
        w.replay()
        left.append(w)

    with pytest.raises(ix.UsageError, match="inside of a job"):
        left[0].replay()

    @job()
    async def again(rt):
        with pytest.raises(ix.UsageError, match="has ended"):
            left[0].replay()
