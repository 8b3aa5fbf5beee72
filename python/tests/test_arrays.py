"""Other libraries of arrays on the CPU: functions of Numba and PyTorch as tasks, tensors of PyTorch in objects, channels and
messages."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import imbrex as ix
from job import job


def library(name):
    try:
        return importlib.import_module(name)
    except Exception as e:  # noqa: BLE001
        pytest.skip(f"no {name}: {type(e).__name__}: {e}")


def saxpy(x, y, a):
    for i in range(x.size):
        y[i] += a * x[i]
    return y[0]


@pytest.mark.parametrize("pes", [1, 3])
@pytest.mark.parametrize("nogil", [False, True])
def test_functions_of_numba(pes, nogil):
    compiled = library("numba").njit(nogil=nogil)(saxpy)

    @job(pes=pes)
    async def main(rt):
        xs = [ix.Object.of(np.arange(100.0) + i) for i in range(4)]
        ys = [ix.Object.of(np.ones(100)) for _ in range(4)]
        for _ in range(5):
            tasks = [ix.submit(compiled, ix.read(x), y, 2.0) for x, y in zip(xs, ys)]
        assert [await t for t in tasks] == [1 + 10 * i for i in range(4)]
        for i, y in enumerate(ys):
            assert (await y.get() == 1 + 10 * (np.arange(100) + i)).all()
        total = ix.Object(100)
        for x in xs:
            ix.submit(compiled, ix.read(x), ix.reduce(total, ix.sum), 1.0)
        assert (await total.get() == 4 * np.arange(100) + 6).all()
        with ix.record() as w:
            ix.submit(compiled, ix.read(xs[0]), ys[0], 1.0)
        w.replay()
        await w.replay()
        assert (await ys[0].get() == 1 + 12 * np.arange(100)).all()


def softmax(x, out):
    import torch

    torch.softmax(torch.from_numpy(x), dim=1, out=torch.from_numpy(out))
    return torch.ones(2)


def product(a, b, out):
    import torch

    torch.matmul(torch.from_numpy(a), torch.from_numpy(b), out=torch.from_numpy(out))


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writ")
@pytest.mark.parametrize("pes", [1, 2])
def test_functions_of_torch(pes):
    torch = library("torch")

    @job(pes=pes)
    async def main(rt):
        a = torch.arange(12.0).reshape(3, 4)
        x, y, z = ix.Object.of(a), ix.Object((3, 4), "f4"), ix.Object((3, 3), "f4")
        assert x.dtype == np.float32
        t = ix.submit(softmax, ix.read(x), ix.write(y))
        b = ix.Object.of(a.T.contiguous())
        ix.submit(product, ix.read(y), ix.read(b), ix.write(z))
        assert (await t == torch.ones(2)).all()
        expected = torch.softmax(a, dim=1)
        assert torch.equal(torch.from_numpy(await y.get()), expected)
        assert torch.allclose(torch.from_numpy(await z.get()), expected @ a.T)
        async with x.host("read_write") as v:
            torch.from_numpy(v).mul_(2)
        assert torch.equal(torch.from_numpy(await x.get()), 2 * a)


def keeps(x):
    import torch

    kept.append(torch.from_numpy(x))


kept = []


def test_a_function_of_torch_that_keeps_its_tensor_is_told():
    library("torch")

    @job()
    async def main(rt):
        with pytest.raises(ix.UsageError, match="keeps an array"):
            await ix.submit(keeps, ix.Object.of(np.ones(3)))
        kept.clear()


class Pair(ix.Chare):
    async def exchange(self, rounds):
        import torch

        other = self.array[1 - self.index]
        c = self.channel(other, 0, 0)
        mine, into = torch.full((50, 20), float(self.index)), torch.empty(50, 20)
        for i in range(rounds):
            mine += 1
            sent = c.send(mine)
            await c.recv(into)
            assert torch.equal(into, torch.full((50, 20), 1.0 - self.index + i + 1))
            await sent
        with pytest.raises(ix.UsageError, match="without gaps"):
            c.send(mine[:, ::2])
        with pytest.raises(ix.UsageError, match="without gaps"):
            c.send(mine.T)
        return float(into.sum())

    def scaled(self, tensor):
        return tensor * 2


@pytest.mark.parametrize("words", [["--imbrex-pes=1"], ["--imbrex-pes=2"], ["--imbrex-ranks=2", "--imbrex-pes=1"]], ids=" ".join)
def test_tensors_of_torch_in_channels_and_messages(words):
    torch = library("torch")

    @job(*words, pes=None)
    async def main(rt):
        pair = rt.create_array(Pair, 2)
        assert await ix.gather(*(pair[i].call.exchange(5) for i in range(2))) == [6000, 5000]
        assert torch.equal(await pair[1].call.scaled(torch.arange(4)), torch.arange(0, 8, 2))


class OnGpu:
    """As an array of CuPy or Numba; in virtual time what a GPU has is in main memory."""

    def __init__(self, array, stream=None):
        self.array = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "version": 3, "stream": stream,
                                         "data": (array.ctypes.data, False), "strides": array.strides}


def test_objects_of_arrays_on_gpus():
    @job("--imbrex-machine=h200-x4", "--imbrex-device=cuda", pes=None)
    async def simulated(rt):
        a = np.arange(12, dtype="f4").reshape(3, 4)
        x, y = ix.Object.of(OnGpu(a)), ix.Object.of(OnGpu(a[1:]), domain=await ix.process_domain())
        empty = ix.Object.of(OnGpu(np.zeros((0, 3), "i2")))
        ix.submit(lambda v: np.multiply(v, 2, out=v), x)
        assert x.dtype == np.float32 and (await x.get() == 2 * a).all()
        assert (await y.get() == a[1:]).all()
        assert (await empty.get()).shape == (0, 3)
        with pytest.raises(ix.UsageError, match="gaps"):
            ix.Object.of(OnGpu(a[:, ::2]))
        with pytest.raises(ix.UsageError, match="Object.of copies once"):
            with ix.record():
                ix.Object.of(OnGpu(a))
        with pytest.raises(ix.Error, match="wants a stream of CUDA"):  # of another library's, which nothing simulates
            await ix.Object.of(OnGpu(a, stream=1)).get()

    @job()
    async def without_gpus(rt):
        with pytest.raises(ix.UsageError, match="copy in main memory"):
            ix.Object.of(OnGpu(np.zeros(3)))


def test_objects_of_what_lends_its_memory():
    @job()
    async def main(rt):
        import array

        x = ix.Object.of(memoryview(array.array("d", [1, 2, 3])))
        assert (await x.get()).tolist() == [1, 2, 3]


def test_imbrex_needs_no_library_of_arrays():
    """Chares alone need not even numpy."""
    code = ("import sys; sys.modules['numpy'] = None\nimport imbrex as ix\nasync def main(rt):\n    try:\n        ix.Object(3)\n"
            "    except ix.UsageError as e:\n        print(e)\nraise SystemExit(ix.run(main, []))")
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "need numpy" in done.stdout, done.stdout + done.stderr
