"""Tasks that reduce into objects."""

import shutil

import numpy as np
import pytest

import imbrex as ix
from job import job

COUNT = """
IX_KERNEL(spread, (int n, IX_GLOBAL const int* x, IX_GLOBAL int* sums)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); sums[i] += x[i]; }
}
"""
needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


def add(into, i):
    into += i


def keep_smaller(into, i):
    np.minimum(into, i, out=into)


def multiply(into, i):
    into *= i


@pytest.mark.parametrize("pes", [1, 3])
@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
def test_functions_reduce(pes, dtype):
    @job(pes=pes)
    async def main(rt):
        x, y, z = ix.Object(10, dtype), ix.Object.of(np.full((2, 5), 1000, dtype)), ix.Object(10, dtype)
        for i in range(1, 41):
            ix.submit(add, ix.reduce(x, ix.sum), i)
            ix.submit(keep_smaller, ix.reduce(y, ix.min), 100 + i)
        for i in range(1, 11):
            ix.submit(multiply, ix.reduce(z, ix.product, parts=3), i)
        assert (await x.get() == 820).all()  # nobody had written it
        assert (await y.get() == 101).all()
        assert (await z.get() == 3628800).all()
        for i in range(5):
            ix.submit(add, ix.reduce(x, ix.sum), i)  # with what it has
        ix.submit(lambda a: np.add(a, 1, out=a), x)
        assert (await x.get() == 831).all()


def test_one_operation_after_another():
    @job(pes=2)
    async def main(rt):
        x = ix.Object.of(np.zeros(3))
        for i in range(10):
            ix.submit(add, ix.reduce(x, ix.sum), i)
        for i in range(10):
            ix.submit(lambda a, i: np.maximum(a, i, out=a), ix.reduce(x, ix.max), 40 + i)
        assert (await x.get() == 49).all()
        for i in range(3):
            ix.submit(add, ix.reduce(x[1:2], ix.sum), i)
        assert (await x.get()).tolist() == [49, 52, 49]


@needs_compiler
@pytest.mark.parametrize("words", [["--imbrex-pes=2"], ["--imbrex-device=opencl"],
                                   ["--imbrex-machine=h200-x4", "--imbrex-device=cuda"]], ids=" ".join)
def test_kernels_reduce(words):
    @job(*words, pes=None)
    async def main(rt):
        k = ix.Kernels(COUNT)
        x, sums = ix.Object.of(np.arange(1000, dtype="i4")), ix.Object(1000, "i4")
        for _ in range(20):
            ix.submit(k.spread, 1000, x, ix.reduce(sums, ix.sum), over=1000)
            ix.submit(add, ix.reduce(sums, ix.sum), 1)
        assert (await sums.get() == 20 * np.arange(1000) + 20).all()


def test_mistakes_are_named():
    @job()
    async def main(rt):
        x = ix.Object(3)
        for wrong, words in [
            (lambda: ix.submit(add, ix.reduce(x, ix.concatenate), 1), "does not reduce by 'concatenate'"),
            (lambda: ix.submit(add, ix.reduce(ix.Object(3, "i2"), ix.sum), 1), "Object of int16: int32"),
            (lambda: ix.submit(add, ix.reduce(x, ix.sum, parts=0), 1), "at least one part"),
            (lambda: ix.reduce(3, ix.sum), "is for an imbrex.Object"),
        ]:
            with pytest.raises(ix.UsageError, match=words):
                wrong()
