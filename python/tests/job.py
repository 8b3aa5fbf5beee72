"""A coroutine as a job, for tests."""

import functools
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import imbrex as ix
import pytest


@functools.lru_cache
def missing(option):
    """What the job says that this build or machine does not have, when asked for it by an option; empty: it has it."""
    code = f"import imbrex as ix\nasync def main(rt): pass\nraise SystemExit(ix.run(main, [{option!r}]))"
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    reasons = ("this build has no", "this build knows no machines", "no device of OpenCL was found")
    return done.stderr if any(reason in done.stderr for reason in reasons) else ""


def job(*words, pes=1):
    """Runs a coroutine as the main chare, and passes on what it throws; skips what this build cannot."""

    def run(main):
        for word in words:
            if word.startswith(("--imbrex-device=opencl", "--imbrex-machine=")) and missing(word):
                pytest.skip(missing(word))
        thrown = []

        async def begin(rt):
            try:
                await main(rt)
            except BaseException as e:  # noqa: BLE001
                thrown.append(e)

        code = ix.run(begin, list(words), pes=pes)
        if thrown:
            raise thrown[0]
        assert code == 0

    return run


def run_alone(folder, *parts, words=()):
    """The exit code of a program of its own, with `main` in the first part, and all that it said."""
    begin, *end = (textwrap.dedent(part) for part in parts)
    program = folder / "program.py"
    program.write_text("\n".join(["import imbrex as ix", begin, 'if __name__ == "__main__":',
                                  textwrap.indent(end[0] if end else "raise SystemExit(ix.run(main))", "    ")]))
    done = subprocess.run([sys.executable, "-B", str(program), *words], capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, PYTHONPATH=str(Path(ix.__file__).parent.parent)))
    return done.returncode, done.stdout + done.stderr


def run_over_processes(folder, text, ranks=2, words=()):
    """What a program said that was run by mpirun, and ended well; it may import what is beside the tests. Skips where that
    cannot be."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("there is no mpirun")
    if missing("--imbrex-transport=mpi"):
        pytest.skip(missing("--imbrex-transport=mpi"))
    program = folder / "far.py"
    program.write_text(text)
    paths = [str(Path(ix.__file__).parent.parent), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PYTHONPATH=os.pathsep.join(paths))
    done = subprocess.run([mpirun, "--oversubscribe", "-n", str(ranks), sys.executable, "-B", str(program), *words], capture_output=True,
                          text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
