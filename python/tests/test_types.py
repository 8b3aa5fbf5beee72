"""What type checkers see: the stub of the module, and the package."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import imbrex as ix
import pytest

PROGRAM = '''
import imbrex as ix


def fill(a: object, value: float) -> None: ...


async def graph(g: ix.Graph, n: int) -> int:
    a = ix.Distributed(g, n, 3)
    b = ix.Distributed(g, n, lambda i: (i, 3))
    print(a.shape, b[0].shape, b[0].nbytes)
    t = g.submit(fill, ix.write(a[0]), 1)
    if t is not None:
        await t
    await g.done()
    return 3


async def main(rt: ix.Runtime) -> int:
    x = ix.Object(3)
    everywhere: ix.Domain = await ix.process_domain()
    y = ix.Object(3, domain=everywhere)
    await everywhere.all_over()
    await everywhere.fewer_than(3)
    ix.submit(fill, y, 2)
    with ix.record() as w:
        ix.submit(fill, ix.reduce(x, ix.sum), 1)
    ix.submit(fill, ix.reduce(x, lambda a, b: a + b, identity=0), 1)
    k = ix.Kernels("...")
    ix.submit(fill, ix.reduce(x, abs, 3, identity=[0, 1, 2], by=k.add), 1)
    await w.replay()
    t = ix.submit(fill, x, 2)
    await t
    await rt.quiescence()
    report = ix.run("jacobi3d", x=3)
    print(report["x"], await ix.run_graph(rt, graph, 3), await ix.gather(t, t), ix.clock() + 1)
    chares = rt.create_array(ix.Chare, 3)
    chares.broadcast.run(3)
    return 0


class Rod:
    async def start(self, rt: ix.Runtime) -> int:
        made: str = await rt.checkpoint("folder")
        rt.resize(3)
        return len(made)

    async def restart(self, rt: ix.Runtime, words: list[str]) -> None:
        await rt.checkpoint_point()


code: int = ix.run(main)
again: int = ix.run(Rod())
'''


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.parametrize("wrong", [False, True])
def test_a_program_has_types(tmp_path, wrong):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("code: int", "code: str") if wrong else PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--check-untyped-defs", f"--cache-dir={tmp_path}", str(program)],
        capture_output=True, text=True, check=False, timeout=100, env=dict(os.environ, MYPYPATH=str(Path(ix.__file__).parent.parent)))
    assert (done.returncode != 0) == wrong, done.stdout + done.stderr
    assert ("incompatible type" in done.stdout.lower()) == wrong
