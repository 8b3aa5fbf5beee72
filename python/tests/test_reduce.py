"""Tasks that reduce into objects."""

import shutil

import numpy as np
import pytest

import imbrex as ix
from job import job

COUNT = """
IX_KERNEL(keep_bits, (int n, IX_GLOBAL unsigned* into, IX_GLOBAL const unsigned* from)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); into[i] |= from[i]; }
}
IX_KERNEL(keep_first, (int n, IX_GLOBAL IX_DOUBLE2* into, IX_GLOBAL const IX_DOUBLE2* from)) {
  IX_ITEMS_BELOW(n) {
    int i = IX_GLOBAL_ID(0);
    if (from[i].x < into[i].x || (from[i].x == into[i].x && from[i].y < into[i].y)) into[i] = from[i];
  }
}
IX_KERNEL(set_bit, (int n, int bit, IX_GLOBAL unsigned* x)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); x[i] |= (unsigned)1 << ((bit + i) % 32); }
}
IX_KERNEL_OF_GROUP(fixed, (8, 1, 1), (int n, IX_GLOBAL unsigned* into, IX_GLOBAL const unsigned* from)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); into[i] |= from[i]; }
}
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


# ---------------------------------------------------------------------------------------------- operations of one's own

MOMENTS = np.dtype([("count", "i8"), ("mean", "f8"), ("squares", "f8")])


def add_moments(a, b):
    """Chan, Golub and LeVeque's way to put two samples together."""
    n = a["count"] + b["count"]
    difference = b["mean"] - a["mean"]
    of_b = np.divide(b["count"], n, out=np.zeros(n.shape), where=n > 0)
    a["squares"] += b["squares"] + difference**2 * a["count"] * of_b
    a["mean"] += difference * of_b
    a["count"] = n


def see(into, values):
    one = np.zeros(into.shape, MOMENTS)
    one["count"], one["mean"] = 1, values
    add_moments(into, one)


class Least:
    """Of both together: not element by element."""

    def merge(self, a, b):
        return np.sort(np.concatenate([a, b]))[:len(a)]


def keep_least(into, values):
    into[...] = np.sort(np.concatenate([into, values]))[:len(into)]


def keep_nearest(into, i):
    """Of pairs (how far from 7, which)."""
    into[abs(i - 7) < into[:, 0]] = abs(i - 7), i


def no_elements(a, b):
    return a[:1]


def other_elements(a, b):
    return (a + b).astype("f4")


def fails(a, b):
    raise ZeroDivisionError("on purpose")


@pytest.mark.parametrize("words", [["--imbrex-pes=1"], ["--imbrex-pes=3"], ["--imbrex-pes=2", "--imbrex-schedule-seed=4"]],
                         ids=" ".join)
@pytest.mark.parametrize("parts", [1, 3, 8])
def test_functions_of_ones_own_combine(words, parts):
    @job(*words, pes=None)
    async def main(rt):
        rand = np.random.default_rng(parts)
        samples = rand.integers(0, 1000, (40, 6))
        least = Least()
        moments, smallest = ix.Object(6, MOMENTS), ix.Object.of(np.arange(500, 509))
        for s in samples:
            ix.submit(see, ix.reduce(moments, add_moments, parts, identity=(0, 0, 0)), s)
            ix.submit(keep_least, ix.reduce(smallest, least.merge, parts, identity=np.iinfo("i8").max), s)
        found = await moments.get()
        assert (found["count"] == 40).all()
        assert np.allclose(found["mean"], samples.mean(0)) and np.allclose(found["squares"] / 40, samples.var(0))
        everything = np.sort(np.concatenate([samples.ravel(), np.arange(500, 509)]))
        assert (await smallest.get() == everything[:9]).all()
        # With what it has, by another operation, on rows, and on a type that sums know nothing of.
        ix.submit(see, ix.reduce(moments[2:4], add_moments, identity=(0, 0, 0)), samples[0, 2:4])
        assert (await moments.get())["count"].tolist() == [40, 40, 41, 41, 40, 40]
        flags = ix.Object.of(np.array([[True, False], [False, False]]))
        for i in range(5):
            ix.submit(lambda f, i: f.__setitem__((1, i % 2), i != 1), ix.reduce(flags, np.logical_xor), i)
        ix.submit(lambda f: f.fill(True), ix.reduce(flags, np.logical_and))
        assert (await flags.get()).tolist() == [[True, False], [True, True]]


def test_an_identity_is_spread_over_the_object():
    @job()
    async def main(rt):
        for identity, expected in [(1, [[2, 2], [2, 2], [2, 2]]), ([1, 2], [[2, 3], [2, 3], [2, 3]]),
                                   ([[1], [2], [3]], [[2, 2], [3, 3], [4, 4]]), (np.full((3, 2), 5), [[6, 6], [6, 6], [6, 6]])]:
            x = ix.Object((3, 2), "i2")
            ix.submit(add, ix.reduce(x, lambda a, b: np.maximum(a, b), identity=identity), 1)
            assert (await x.get()).tolist() == expected
        nothing = ix.Object((0, 2))
        ix.submit(add, ix.reduce(nothing, np.add), 1)
        ix.submit(add, ix.reduce(nothing, np.add, identity=[0, 0]), 1)
        assert (await nothing.get()).shape == (0, 2)


def test_equal_operations_add_to_the_same_parts():
    combined = []

    class Counted:
        def __init__(self, name):
            self.name = name

        def __eq__(self, other):
            return self.name == other.name

        __hash__ = None

        def __call__(self, a, b):
            combined.append(self.name)
            a += b

    @job()
    async def main(rt):
        x = ix.Object(2, "i4")
        for i in range(32):  # equal, though each is another: four parts
            ix.submit(add, ix.reduce(x, Counted("one"), 4, identity=0), 1)
        assert (await x.get() == 32).all()
        assert combined == ["one"] * 3
        combined.clear()
        into = ix.reduce(x, Counted("one"), 4, identity=0)
        for _ in range(2):  # one use for many tasks
            ix.submit(add, into, 0)
        await x.get()
        assert combined == ["one"] * 2
        combined.clear()
        ix.submit(add, ix.reduce(x, Counted("one"), 4, identity=0), 1)
        ix.submit(add, ix.reduce(x, Counted("two"), 4, identity=0), 1)
        ix.submit(add, ix.reduce(x, Counted("two"), 3, identity=0), 1)
        assert (await x.get() == 35).all()
        assert combined == ["one", "two", "two"]


def test_what_combining_throws_is_thrown_where_the_object_is_used():
    @job(pes=2)
    async def main(rt):
        for f, words in [(fails, "on purpose"), (no_elements, r"no_elements.*of shape \(1,\)"), (other_elements, "float32")]:
            x, y = ix.Object.of(np.zeros(3)), ix.Object(3)
            for i in range(9):  # several times: all of it is told by what is thrown
                ix.submit(add, ix.reduce(x, f, identity=0), i)
            with pytest.raises(ix.Error, match=words) as thrown:
                await x.get()
            assert "Traceback" in str(thrown.value)
            assert f is not fails or "in fails" in str(thrown.value)
            with pytest.raises(ix.Error, match=words):
                await ix.submit(lambda a, b: np.copyto(b, a), ix.read(x), ix.write(y))
            ix.submit(lambda a: a.fill(4), ix.write(x))  # good as new
            assert (await x.get() == 4).all()
        kept = []
        x = ix.Object(3)
        for _ in range(2):
            ix.submit(add, ix.reduce(x, lambda a, b: kept.append(b), identity=0), 1)
        with pytest.raises(ix.Error, match="keeps an array"):
            await x.get()
        kept.clear()


def test_what_combining_throws_is_reported_if_nobody_awaits_it(capfd):
    async def main(rt):
        x = ix.Object(3)
        for i in range(3):
            ix.submit(add, ix.reduce(x, fails, identity=0), i)
        ix.submit(lambda a: None, ix.read(x))
        await rt.quiescence()

    assert ix.run(main, []) != 0
    assert "on purpose" in capfd.readouterr().err


@needs_compiler
@pytest.mark.parametrize("words", [["--imbrex-pes=2"], ["--imbrex-device=opencl"],
                                   ["--imbrex-machine=h200-x4", "--imbrex-device=cuda"]], ids=" ".join)
@pytest.mark.parametrize("how", ["kernel", "function", "both"])
def test_kernels_of_ones_own_combine(words, how):
    @job(*words, pes=None)
    async def main(rt):
        k = ix.Kernels(COUNT)
        op = {"kernel": {"op": k.keep_bits}, "function": {"op": np.bitwise_or},
              "both": {"op": np.bitwise_or, "by": k.keep_bits}}[how]
        x = ix.Object.of(np.full(1000, 1, "u4"))
        y = ix.Object((500, 2))
        for bit in range(3, 20):
            into = ix.reduce(x, identity=0, **op)
            if bit % 4:
                ix.submit(k.set_bit, 1000, bit, into, over=1000)
            else:
                ix.submit(lambda a, b: np.bitwise_or(a, np.uint32(1) << ((b + np.arange(1000)) % 32).astype("u4"), out=a), into, bit)
            ix.submit(keep_nearest, ix.reduce(y, k.keep_first, identity=(np.inf, 0)), bit)
        expected = np.ones(1000, "u4")
        for bit in range(3, 20):
            expected |= np.uint32(1) << ((bit + np.arange(1000)) % 32).astype("u4")
        assert (await x.get() == expected).all()
        assert (await y.get() == [0, 7]).all()


def test_operations_in_windows():
    @job()
    async def main(rt):
        x = ix.Object.of(np.zeros(4, "i4"))
        with ix.record() as w:
            for bit in range(12):
                ix.submit(lambda a, i: np.bitwise_xor(a, 1 << i, out=a), ix.reduce(x, np.bitwise_xor, 3), bit)
        for i in range(3):
            await w.replay()
            assert (await x.get() == ((1 << 12) - 1) * (1 - i % 2)).all()


@needs_compiler
def test_mistakes_about_operations_are_named():
    @job()
    async def main(rt):
        k = ix.Kernels(COUNT)
        x, u = ix.Object(3), ix.Object(3, "u4")
        for wrong, words in [
            (lambda: ix.reduce(x, 3), "not by 3"),
            (lambda: ix.reduce(x, add_moments), "needs identity="),
            (lambda: ix.reduce(x, np.maximum), "needs identity="),
            (lambda: ix.reduce(x, ix.sum, identity=0), "knows its identity"),
            (lambda: ix.reduce(u, np.bitwise_or, identity=0.5), "0.5 is no uint32"),
            (lambda: ix.reduce(x, np.add, identity=[1, 2]), "does not fill"),
            (lambda: ix.reduce(x, np.add, identity="none"), "does not fill"),
            (lambda: ix.reduce(x, np.add, by=3), "takes a kernel"),
            (lambda: ix.reduce(x, k.keep_bits, identity=0), "points to unsigned, and the object that is reduced into has float64"),
            (lambda: ix.reduce(u, k.set_bit, identity=0), "kernel 'set_bit' combines no parts"),
            (lambda: ix.reduce(u, k.fixed, identity=0), "groups of any size"),
            (lambda: ix.reduce(u, k.keep_bits, by=k.keep_bits, identity=0), "by that kernel already"),
            (lambda: ix.reduce(x, k.keep_first, identity=0), "elements of 16 bytes, and the object has 24"),
            (lambda: ix.submit(add, ix.reduce(x, np.add, 0), 1), "at least one part"),
        ]:
            with pytest.raises(ix.UsageError, match=words):
                wrong()


def test_mistakes_are_named():
    @job()
    async def main(rt):
        x, y = ix.Object(3), ix.Object.of(np.zeros(3))
        for wrong, words in [
            (lambda: ix.submit(add, ix.reduce(y, ix.sum), y), "reduces into the object of argument 0"),
            (lambda: ix.submit(add, y[1:2], ix.reduce(y, ix.sum)), "reduces into the object of argument 1"),
            (lambda: ix.submit(add, ix.reduce(y, ix.sum), ix.reduce(y, ix.max)), "reduces into the object of argument 0"),
            (lambda: ix.submit(add, ix.reduce(x, ix.concatenate), 1), "does not reduce by 'concatenate'"),
            (lambda: ix.submit(add, ix.reduce(ix.Object(3, "i2"), ix.sum), 1), "Object of int16: int32"),
            (lambda: ix.submit(add, ix.reduce(x, ix.sum, parts=0), 1), "at least one part"),
            (lambda: ix.reduce(3, ix.sum), "is for an imbrex.Object"),
        ]:
            with pytest.raises(ix.UsageError, match=words):
                wrong()
