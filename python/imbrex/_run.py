"""The job: what starts it, and what the main chare does."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, overload

from . import _imbrex
from ._chare import Chare
from ._errors import Error, UsageError
from ._signals import Signals


@overload
def run(main: Callable, argv: list[str] | None = None, *, pes: int | None = None) -> int: ...
@overload
def run(main: str, *, launcher: str = "", trace: bool = False, **options: Any) -> dict[str, Any]: ...
def run(main: Any, argv: list[str] | None = None, *, pes: int | None = None, **more: Any) -> Any:
    """Runs a job whose main chare is the coroutine `main(rt)`, or `main(rt, words)` with the words of the command line
    that are not imbrex's own. All processes of an `mpirun` or `srun` call this. `pes`: PEs, that is threads, of this
    process, unless `--imbrex-pes` says; one where it does not say either, since threads of Python compute one at a time.
    Returns the exit code, the same everywhere. One job at a time. While the main chare runs, in the main thread, signals are
    handled as in any program: Ctrl-C ends the job, and `KeyboardInterrupt` is thrown here; before and after it, and on other
    ranks, Ctrl-C ends the process.

    Or an application of imbrex, by its name: `run("jacobi3d", x=192, i=100, imbrex_pes=2)` gives its report as a dict.
    `launcher`: for instance "mpirun -n 4". An option of one letter is written `-x`, others `--with-dashes`. With `trace=True`
    the events of `--imbrex-trace` are in the dict as "trace". Throws `imbrex.Error` with what it said when it fails."""
    if isinstance(main, str):
        if argv is not None:
            raise UsageError(f"imbrex.run({main!r}) takes an application's options by name: x=192, imbrex_pes=2")
        return _run_application(main, **more, **({} if pes is None else {"pes": pes}))
    if more:
        raise UsageError(f"imbrex.run(main) has no {', '.join(more)}: options go into argv")
    if not inspect.iscoroutinefunction(main):
        raise UsageError("imbrex.run takes an `async def main(rt)`, or the name of an application")
    return _run_job(main, argv, pes)


def _run_job(main: Callable, argv: list[str] | None, pes: int | None) -> int:
    if _imbrex.is_in_job():
        raise UsageError("imbrex.run was called inside of a job: a process runs one at a time, and the next when it has returned")
    words = list(sys.argv if argv is None else [sys.argv[0] or "python", *argv])
    if not any(w.startswith("--imbrex-pes") for w in words) and "IMBREX_PES" not in os.environ:
        words.insert(1, f"--imbrex-pes={pes or 1}")
    sys.stdout.flush()
    if threading.current_thread() is not threading.main_thread():
        return _imbrex.run(words, main)
    # Before the main chare begins, after it has ended, and on other ranks, Python's own handlers would wait for the job's end.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _imbrex.run(words, _Main(main, handler))
    finally:
        signal.signal(signal.SIGINT, handler)


class _Main:
    """The main chare as the module calls it, and the handler of Ctrl-C that the program has."""

    def __init__(self, main: Callable, handler: Any) -> None:
        self.main, self.handler = main, handler
        self.__signature__ = inspect.signature(main)

    async def __call__(self, *given: Any) -> Any:
        with Signals(self.handler):
            return await self.main(*given)


def begin(main: Callable, rt: _imbrex.Runtime, words: list[str]) -> Any:
    return _to_its_end(main, [rt] if len(inspect.signature(main).parameters) == 1 else [rt, words])


async def _to_its_end(main: Callable, given: list) -> Any:
    """With `sys.exit`, as in any program."""
    try:
        return await main(*given)
    except SystemExit as e:
        if e.code is None or isinstance(e.code, int):
            return e.code
        print(e.code, file=sys.stderr)
        return 1


def clock() -> float:
    """Seconds, as of `time.perf_counter`; in a run in virtual time those of the simulated machine."""
    return _imbrex.clock()


def gather(*all: Any) -> Any:
    """`a, b = await imbrex.gather(x, y)`: of several waits, coroutines or tasks at once, in whatever order they end; none begins
    before it is awaited. If some throw, all are still waited for; then the first of them is thrown."""
    return _imbrex.gather([a._until_over() if isinstance(a, _imbrex.Task) else a for a in all])


def _check(cls: type) -> None:
    if not (isinstance(cls, type) and issubclass(cls, Chare)):
        raise UsageError(f"{cls!r} is no class that derives from imbrex.Chare")


def _made(cls: type, args: tuple, named: dict[str, Any]) -> tuple:
    """What a chare is made of, where it can be told elsewhere."""
    _check(cls)
    try:
        pickle.dumps(cls)
    except (pickle.PicklingError, AttributeError) as e:
        raise UsageError(f"chares of {cls.__qualname__} can be made only where others find the class by its name: define it in a "
                         f"module, outside of functions ({e})") from None
    return (cls, args, named)


def _create_array(rt: _imbrex.Runtime, cls: type, extent: Any, *args: Any, **named: Any) -> Any:
    """An array of chares, `extent` a number or a tuple of up to three: blocks of consecutive elements on each PE. Each is
    made with copies of the arguments. The proxy can be used at once."""
    return rt._create_array(extent, _made(cls, args, named))


def _create_group(rt: _imbrex.Runtime, cls: type, *args: Any, **named: Any) -> Any:
    """One chare on each PE."""
    return _create_array(rt, cls, rt.num_pes, *args, **named)


def _create(rt: _imbrex.Runtime, cls: type, *args: Any, **named: Any) -> Any:
    """A single chare, on a PE of the runtime's choice."""
    return rt._create(_made(cls, args, named))


_imbrex.Runtime.create_array = _create_array
_imbrex.Runtime.create_group = _create_group
_imbrex.Runtime.create = _create


# ---------------------------------------------------------------------------------------------- applications


def _words(options: dict[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif name.startswith("imbrex_"):
            words.append(f"{option}={value}")
        else:
            values = value if isinstance(value, (list, tuple)) else [value]
            words += [option, *(str(v) for v in values)]
    return words


def _find(name: str) -> str:
    folder = os.environ.get("PYTHON_IMBREX_BIN")
    found = shutil.which(name, path=folder) if folder else shutil.which(name)
    if found is None:
        where = f"in PYTHON_IMBREX_BIN={folder}" if folder else "on the PATH: install it, or set PYTHON_IMBREX_BIN to its folder"
        raise UsageError(f"the program {name} is not {where}")
    return found


def _run_application(name: str, launcher: str = "", trace: bool = False, **options: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report, events = Path(folder, "report.json"), Path(folder, "trace.json")
        short = {k: v for k, v in options.items() if len(k) == 1}
        words = [w for k, v in short.items() for w in (f"-{k}", str(v))]
        words += _words({k: v for k, v in options.items() if len(k) > 1})
        words += ["--report", str(report)]
        if trace:
            words.append(f"--imbrex-trace={events}")
        done = subprocess.run([*launcher.split(), _find(name), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Error(f"{name} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}".strip())
        if not report.exists():
            raise UsageError(f"{name} has written no report: imbrex.run(name) is for applications that have --report, as jacobi3d")
        result = json.loads(report.read_text())
        if trace:
            result["trace"] = json.loads(events.read_text())
    return result
