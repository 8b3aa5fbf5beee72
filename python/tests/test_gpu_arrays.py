"""Kernels of Numba and functions of PyTorch on GPUs, as tasks and in channels."""

import functools
import importlib

import numpy as np
import pytest

import imbrex as ix
from job import job as job_of_words


def on_a_gpu(name):
    """The library, where it finds a GPU."""
    why = why_not(name)
    if why:
        pytest.skip(why)
    return importlib.import_module(name)


@functools.lru_cache
def why_not(name):
    """Why there is no GPU for the library; empty: there is one."""
    try:
        cuda = importlib.import_module(f"{name}.cuda")  # of Numba it does not come with the package
        if not cuda.is_available():
            return f"{name} finds no GPU"
        if name == "numba":  # numba-cuda that is older than numpy imports, and compiles nothing
            cuda.jit(lambda: None)[1, 1]()
    except Exception as e:  # noqa: BLE001
        return f"no {name} with a GPU: {type(e).__name__}: {e}"
    return ""


def job(*words):
    return job_of_words("--imbrex-device=cuda", "--imbrex-pes=1", "--imbrex-gpus=1", *words)


def test_kernels_of_numba():
    cuda = on_a_gpu("numba").cuda

    @cuda.jit
    def scale(x, factor):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= factor

    def task(stream, x, factor):
        scale[(x.shape[0] + 127) // 128, 128, cuda.external_stream(stream.ptr)](cuda.as_cuda_array(x, sync=False), factor)

    @job()
    async def main(rt):
        x = ix.Object.of(np.arange(1000.0))
        for _ in range(3):
            ix.submit(ix.on_gpu(task), x, 2.0)
            ix.submit(lambda a: np.add(a, 1, out=a), x)
        assert (await x.get() == 8 * np.arange(1000) + 7).all()


@functools.lru_cache
def kernels_of_numba():
    """Which change each element: one adds a number, one does so slowly."""
    cuda = on_a_gpu("numba").cuda

    @cuda.jit
    def add(x, term):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += term

    @cuda.jit
    def add_slowly(x, term, rounds):
        i = cuda.grid(1)
        if i < x.size:
            for _ in range(rounds):
                x[i] = (x[i] + 1) * 0.5
            x[i] = term

    return cuda, add, add_slowly


N = 10_000
GRID = (N + 127) // 128, 128


def add_by_numba(stream, x, term):
    cuda, add, _ = kernels_of_numba()
    add[(*GRID, cuda.external_stream(stream.ptr))](cuda.as_cuda_array(x, sync=False), term)


def test_objects_of_arrays_of_numba():
    cuda, _, add_slowly = kernels_of_numba()

    @job()
    async def main(rt):
        there = cuda.to_device(np.arange(N, dtype="f4"))
        x = ix.Object.of(there)
        ix.submit(ix.on_gpu(add_by_numba), x, 2.0)
        assert x.dtype == np.float32 and (await x.get() == np.arange(N) + 2).all()
        assert (there.copy_to_host() == np.arange(N)).all()  # a copy
        # What the array's own stream has not computed yet is waited for.
        stream = cuda.stream()
        later = cuda.device_array(N, "f8", stream=stream)
        add_slowly[(*GRID, stream)](later, 5.0, 100_000)
        y = ix.Object.of(later)
        ix.submit(ix.on_gpu(add_by_numba), y, 1.0)
        assert (await y.get() == 6).all()
        stream.synchronize()
        rows = cuda.to_device(np.ones((10, 6)))
        assert (await ix.Object.of(rows[2:4]).get()).shape == (2, 6)
        with pytest.raises(ix.UsageError, match="gaps"):
            ix.Object.of(rows[:, ::2])


class NumbaPair(ix.Chare):
    async def exchange(self, rounds, with_stream):
        cuda, add, add_slowly = kernels_of_numba()
        c = self.channel(self.array[1 - self.index], 0, 0, memory="device")
        stream = cuda.stream()
        mine, into = cuda.device_array(N, "f8", stream=stream), cuda.device_array(N, "f8", stream=stream)
        add_slowly[(*GRID, stream)](mine, float(self.index), 20_000)
        for i in range(rounds):
            add[(*GRID, stream)](mine, 1.0)
            # Both arrays name the stream, too.
            sent = c.send(mine, stream=stream) if with_stream else c.send(mine)
            assert await c.recv(into, *([stream] if with_stream else [])) is into
            found = into.copy_to_host(stream=stream)
            stream.synchronize()
            assert (found == 1 - self.index + i + 1).all()
            await sent
        with pytest.raises(ix.UsageError, match="gaps"):
            c.send(mine[::2])
        return True

    async def take(self, array, term):
        """In a process the array itself comes."""
        x = ix.Object.of(array)
        ix.submit(ix.on_gpu(add_by_numba), x, term)
        return array, await x.get()


@pytest.mark.parametrize("with_stream", [False, True])
def test_arrays_of_numba_in_channels(with_stream):
    kernels_of_numba()

    @job()
    async def main(rt):
        pair = rt.create_array(NumbaPair, 2)
        assert await ix.gather(*(pair[i].call.exchange(10, with_stream) for i in range(2))) == [True, True]


def test_arrays_of_numba_in_messages():
    cuda, add, _ = kernels_of_numba()

    @job()
    async def main(rt):
        stream = cuda.stream()
        there = cuda.to_device(np.arange(float(N)), stream=stream)
        add[(*GRID, stream)](there, 3.0)
        came, found = await rt.create_array(NumbaPair, 2)[1].call.take(there, 4.0)
        assert came is there and (found == np.arange(N) + 7).all()


def test_functions_of_torch():
    torch = on_a_gpu("torch")

    def task(stream, x, y):
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            a, b = (torch.as_tensor(v, device="cuda") for v in (x, y))
            b.add_(a, alpha=2)

    @job()
    async def main(rt):
        x, y = ix.Object.of(np.arange(1000.0)), ix.Object.of(np.ones(1000))
        for _ in range(3):
            ix.submit(ix.on_gpu(task), ix.read_write(x), y)
        assert (await y.get() == 6 * np.arange(1000) + 1).all()


class Pair(ix.Chare):
    async def exchange(self, rounds):
        import torch

        c = self.channel(self.array[1 - self.index], 0, 0, memory="device")
        stream = torch.cuda.Stream(self.gpu)
        with torch.cuda.stream(stream):
            mine = torch.full((1000,), float(self.index), device=f"cuda:{self.gpu}")
            into = torch.empty_like(mine)
        for i in range(rounds):
            with torch.cuda.stream(stream):
                mine += 1
            sent = c.send(mine, stream=stream)
            await c.recv(into, stream)
            with torch.cuda.stream(stream):
                assert float(into.sum()) == 1000 * (1 - self.index + i + 1)
            await sent
        return True


def test_tensors_of_torch_in_channels():
    on_a_gpu("torch")

    @job()
    async def main(rt):
        pair = rt.create_array(Pair, 2)
        assert await ix.gather(*(pair[i].call.exchange(10) for i in range(2))) == [True, True]
