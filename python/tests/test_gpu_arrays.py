"""Kernels of Numba and functions of PyTorch on GPUs, as tasks and in channels."""

import importlib

import numpy as np
import pytest

import imbrex as ix
from job import job as job_of_words


def on_a_gpu(name):
    """The library, where it finds a GPU."""
    try:
        found = importlib.import_module(name)
        assert found.cuda.is_available(), "it finds no GPU"
        return found
    except Exception as e:  # noqa: BLE001
        pytest.skip(f"no {name} with a GPU: {type(e).__name__}: {e}")


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
