"""The job: what starts it, and what makes its chares."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, overload

from . import _imbrex
from ._applications import run_application
from ._chare import made_of
from ._errors import UsageError
from ._main import Main, can_restart

if TYPE_CHECKING:
    from ._main import Program


@overload
def run(main: Callable | Program, argv: list[str] | None = None, *, pes: int | None = None) -> int: ...
@overload
def run(main: str, *, launcher: str = "", trace: bool = False, **options: Any) -> dict[str, Any]: ...
def run(main: Any, argv: list[str] | None = None, *, pes: int | None = None, **more: Any) -> Any:
    """Runs a job whose main chare is the coroutine `main(rt)`, or `main(rt, words)` with the words of the command line
    that are not imbrex's own; or an object whose class has `async def start(self, rt)` and `async def restart(self, rt)`, with
    or without words, which makes checkpoints and goes on from one by `restart`. All processes of an `mpirun` or `srun` call
    this. `pes`: PEs, that is threads, of this process, unless `--imbrex-pes` says; one where it does not say either, since
    threads of Python compute one at a time.
    Returns the exit code, the same everywhere. One job at a time. While the main chare runs, in the main thread, signals are
    handled as in any program: Ctrl-C ends the job, and `KeyboardInterrupt` is thrown here; before and after it, and on other
    ranks, Ctrl-C ends the process.

    Or an application of imbrex, by its name: `run("jacobi3d", x=192, i=100, imbrex_pes=2)` gives its report as a dict.
    `launcher`: for instance "mpirun -n 4". An option of one letter is written `-x`, others `--with-dashes`. With `trace=True`
    the events of `--imbrex-trace` are in the dict as "trace". Throws `imbrex.Error` with what it said when it fails."""
    if isinstance(main, str):
        if argv is not None:
            raise UsageError(f"imbrex.run({main!r}) takes an application's options by name: x=192, imbrex_pes=2")
        return run_application(main, **more, **({} if pes is None else {"pes": pes}))
    if more:
        raise UsageError(f"imbrex.run(main) has no {', '.join(more)}: options go into argv")
    if isinstance(main, type) and can_restart(main):
        raise UsageError(f"imbrex.run takes an object with `start` and `restart`: imbrex.run({main.__name__}())")
    if not can_restart(main) and not inspect.iscoroutinefunction(main):
        raise UsageError("imbrex.run takes an `async def main(rt)`, an object with `async def start(self, rt)` and `restart`, or the "
                         "name of an application")
    return _run_job(main, argv, pes)


def _run_job(main: Any, argv: list[str] | None, pes: int | None) -> int:
    if _imbrex.is_in_job():
        raise UsageError("imbrex.run was called inside of a job: a process runs one at a time, and the next when it has returned")
    if isinstance(argv, str) or not all(isinstance(w, str) for w in argv or ()):
        raise UsageError(f"imbrex.run(main, argv={argv!r}): a list of words, such as ['--imbrex-pes=2', '100']")
    words = list(sys.argv if argv is None else [sys.argv[0] or "python", *argv])
    if not any(w.startswith("--imbrex-pes") for w in words) and "IMBREX_PES" not in os.environ:
        words.insert(1, f"--imbrex-pes={pes or 1}")
    sys.stdout.flush()
    if threading.current_thread() is not threading.main_thread():
        return _imbrex.run(words, Main(main, None))
    # Before the main chare begins, after it has ended, and on other ranks, Python's own handlers would wait for the job's end.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _imbrex.run(words, Main(main, handler))
    finally:
        signal.signal(signal.SIGINT, handler)


def clock() -> float:
    """Seconds, as of `time.perf_counter`; in a run in virtual time those of the simulated machine."""
    return _imbrex.clock()


def gather(*all: Any) -> Any:
    """`a, b = await imbrex.gather(x, y)`: of several waits, coroutines or tasks at once, in whatever order they end; none begins
    before it is awaited. If some throw, all are still waited for; then the first of them is thrown."""
    return _imbrex.gather([a._until_over() if isinstance(a, _imbrex.Task) else a for a in all])


def _create_array(rt: _imbrex.Runtime, cls: type, extent: Any, *args: Any, **named: Any) -> Any:
    """An array of chares, `extent` a number or a tuple of up to three: blocks of consecutive elements on each PE. Each is
    made with copies of the arguments. The proxy can be used at once."""
    return rt._create_array(extent, made_of(cls, args, named))


def _create_empty_array(rt: _imbrex.Runtime, dimensions: int = 1) -> Any:
    """An array without elements, for indices of so many numbers: `array.insert(i, cls, ...)` makes some, of whatever
    classes."""
    return rt._empty_array(dimensions)


def _create_group(rt: _imbrex.Runtime, cls: type, *args: Any, **named: Any) -> Any:
    """One chare on each PE."""
    return _create_array(rt, cls, rt.num_pes, *args, **named)


def _create(rt: _imbrex.Runtime, cls: type, *args: Any, **named: Any) -> Any:
    """A single chare, on a PE of the runtime's choice."""
    return rt._create(made_of(cls, args, named))


_imbrex.Runtime.create_array = _create_array
_imbrex.Runtime.create_empty_array = _create_empty_array
_imbrex.Runtime.create_group = _create_group
_imbrex.Runtime.create = _create
