"""Tasks and channels with arrays on GPUs, by CuPy."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import imbrex as ix
from job import job as job_of_words


def cupy_on_a_gpu():
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
        return cupy
    except Exception as e:  # noqa: BLE001
        pytest.skip(f"no CuPy with a GPU: {type(e).__name__}", allow_module_level=True)


cupy = cupy_on_a_gpu()
num_gpus = cupy.cuda.runtime.getDeviceCount()


def job(*words, pes=1):
    return job_of_words("--imbrex-device=cuda", f"--imbrex-pes={pes}", f"--imbrex-gpus={min(pes, num_gpus)}", *words)


def scale(stream, x, factor):
    with cupy.cuda.Stream.from_external(stream):
        a = cupy.asarray(x)
        cupy.multiply(a, factor, out=a)


def scale_on_host(x, factor):
    x *= factor


def test_functions_on_gpus():
    @job()
    async def main(rt):
        x = ix.Object.of(np.arange(1000.0))
        t = ix.submit(ix.on_gpu(scale), x, 2.0)
        ix.submit(scale_on_host, x, 5.0)
        ix.submit(ix.on_gpu(scale, host=scale_on_host), x, 3.0)
        ix.submit(ix.on_gpu(scale, host=scale_on_host), x, 7.0, on="cuda")
        assert (await x.get() == 210 * np.arange(1000)).all()
        assert await t is None
        assert "host" not in t.where
        rows = ix.Object.of(np.ones((10, 5), "f4"))
        ix.submit(ix.on_gpu(lambda s, a: scale(s, a, 4)), rows[3:7])
        expected = np.ones((10, 5)); expected[3:7] = 4
        assert (await rows.get() == expected).all()


def test_objects_of_arrays_on_gpus():
    @job()
    async def main(rt):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            a = cupy.ones((1000, 100), "f4")
            for _ in range(50):
                a *= 1.01
                a /= 1.01
            a += 1  # the array names this stream while it is current
            x = ix.Object.of(a)
            stream.synchronize()
        ix.submit(ix.on_gpu(scale), x, 3.0)
        assert x.dtype == np.float32 and np.allclose(await x.get(), 6, rtol=1e-4)
        assert (cupy.asnumpy(a) < 3).all()  # a copy
        with pytest.raises(ix.UsageError, match="gaps"):
            ix.Object.of(a[:, ::2])


def fails(stream, x):
    raise ZeroDivisionError("on purpose")


def test_what_fails_on_a_gpu():
    @job()
    async def main(rt):
        x = ix.Object.of(np.ones(3))
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            await ix.submit(ix.on_gpu(fails), x)


def test_kernels_from_strings_on_gpus_have_the_bits_of_the_host():
    k = ix.Kernels("""
IX_KERNEL(odd, (int n, double f, IX_GLOBAL const double* x, IX_GLOBAL double* y)) {
  IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); y[i] = f * x[i] + sqrt(x[i]) / (1.0 + i); }
}
IX_KERNEL(sum, (int n, IX_GLOBAL const double* x, IX_GLOBAL double* y)) {
  IX_PRIVATE(double, mine);
  IX_GROUP_VALUE(double, all);
  IX_ITEMS { IX_MY(mine) = 0; }
  IX_ITEMS_BELOW(n) { IX_MY(mine) = x[IX_GLOBAL_ID(0)]; }
  IX_GROUP_SUM(all, mine);
  IX_ITEMS { if (IX_LOCAL_ID(0) == 0) y[IX_GROUP_ID(0)] = all; }
}
""")

    @job()
    async def main(rt):
        found = []
        for where in ("host", "cuda"):
            x, y, z = ix.Object.of(np.random.default_rng(1).random(5000)), ix.Object(5000), ix.Object(20)
            for _ in range(10):
                t = ix.submit(k.odd, 5000, 1.1, x, ix.write(y), over=5000, on=where)
                ix.submit(k.odd, 5000, 0.7, y, ix.write(x), over=5000, on=where)
            ix.submit(k.sum, 5000, x, ix.write(z), over=5000, on=where)
            await t
            found.append((await x.get(), await z.get()))
        assert (found[0][0] == found[1][0]).all() and (found[0][1] == found[1][1]).all()


class Exchanger(ix.Chare):
    async def exchange(self, n, rounds, with_stream):
        with cupy.cuda.Device(self.gpu):
            other = self.array[1 - self.index]
            c = self.channel(other, 0, 0, memory="device")
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                mine = cupy.full(n, float(self.index))
                into = cupy.empty(n)
            stream.synchronize()
        for i in range(rounds):
            with cupy.cuda.Device(self.gpu), stream:
                mine += 1
            sent = c.send(mine, stream=stream)
            if with_stream:
                await c.recv(into, stream)
            else:
                await c.recv(into)
            with cupy.cuda.Device(self.gpu), stream:
                total = cupy.sum(into)
                found = float(total.get(stream=stream))
            assert found == n * (1 - self.index + i + 1), (found, i)
            await sent
        with pytest.raises(ix.UsageError, match="memory=.device."):
            c.send(np.zeros(3))
        with pytest.raises(ix.UsageError, match="gaps"):
            c.send(mine[::2])
        self.contribute(1)


@pytest.mark.parametrize("with_stream", [False, True])
@pytest.mark.parametrize("pes", [1, 2])
def test_channels_of_arrays_on_gpus(pes, with_stream):
    @job(pes=pes)
    async def main(rt):
        both = rt.create_array(Exchanger, 2)
        both.broadcast.exchange(100_000, 20, with_stream)
        assert await both.reduction() == 2


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import imbrex as ix
from test_gpu import Exchanger

async def main(rt):
    both = rt.create_array(Exchanger, 2)
    both.broadcast.exchange(100_000, 20, True)
    assert await both.reduction() == 2

raise SystemExit(ix.run(main))
"""


def test_channels_between_processes(tmp_path):
    program = tmp_path / "exchange.py"
    program.write_text(PROGRAM.format(folder=str(Path(__file__).parent)))
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, str(program), "--imbrex-device=cuda",
                           "--imbrex-pes=1"], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Cooling(ix.Chare):
    """With an Object on its GPU, a channel of the GPU's memory, and an array of CuPy, which are all there again after a restart."""

    def __init__(self):
        self.step = 0
        self.x = ix.Object(1000)
        ix.submit(lambda a: a.fill(self.index + 1.0), ix.write(self.x))
        self.halo = cupy.full(10, float(self.index))
        self.to_next = self.from_last = None

    async def run(self, last):
        if self.to_next is None:
            n = self.extent
            self.to_next = self.channel(self.array[(self.index + 1) % n], 0, 1, memory="device")
            self.from_last = self.channel(self.array[(self.index - 1) % n], 1, 0, memory="device")
        while self.step < last:
            ix.submit(ix.on_gpu(scale), self.x, 2.0)
            sent = self.to_next.send(self.halo)
            came = await self.from_last.recv(cupy.empty(10))
            await sent
            self.halo = came + 1
            cupy.cuda.get_current_stream().synchronize()
            self.step += 1
            await self.checkpoint_point()
        values = await self.x.get()
        self.contribute([(self.index, float(values.min()), float(values.max()), self.halo.get().tolist())], ix.concatenate)


class CoolingProgram:
    def __init__(self):
        self.restarts, self.result = 0, None

    async def start(self, rt):
        self.chares = rt.create_array(Cooling, 4)
        rt.resize(2)
        await self.finish()

    async def restart(self, rt):
        self.restarts += 1
        await self.finish()

    async def finish(self):
        self.chares.broadcast.run(6)
        self.result = sorted(await self.chares.reduction())


def test_chares_with_data_on_gpus_are_restarted(tmp_path):
    def right(program, restarts):
        expected = [(i, 64.0 * (i + 1), 64.0 * (i + 1), [(i - 6) % 4 + 6.0] * 10) for i in range(4)]
        assert (program.result, program.restarts) == (expected, restarts)

    program = CoolingProgram()
    words = ["--imbrex-device=cuda", "--imbrex-pes=1", f"--imbrex-checkpoint={tmp_path}", "--imbrex-checkpoint-every=3"]
    assert ix.run(program, words) == 0
    right(program, 1)
    again = CoolingProgram()
    assert ix.run(again, ["--imbrex-device=cuda", "--imbrex-pes=2", f"--imbrex-restart={tmp_path}"]) == 0
    right(again, 2)
