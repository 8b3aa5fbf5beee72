"""One run of an MPI program with libimbrex_sessions.so, and what the library reports of it."""

import dataclasses
import json
import pathlib
import shlex
import subprocess


class RunError(Exception):
    """A run that gave no report; the text says why."""


@dataclasses.dataclass(frozen=True)
class Start:
    """What starts ranks, and what all runs have in common."""

    library: str
    mpirun: str  # -n follows
    ranks: int
    delay_ns: int | None = None  # in the driver's place
    timeout_s: float = 600


def variables_of(start, modes, report, pattern):
    found = {"LD_PRELOAD": start.library, "IMBREX_SESSIONS": modes, "IMBREX_SESSIONS_OUTPUT": str(report), "IMBREX_SESSIONS_TABLE": "none"}
    if start.delay_ns is not None:
        found["IMBREX_SESSIONS_DELAY_NS"] = str(start.delay_ns)
    if pattern:
        found["IMBREX_SESSIONS_PATTERN"] = pattern
    return found


def run(start, command, modes, folder, pattern="", cwd=None):
    """(The library's report, which lies in `folder` meanwhile, and what the program printed). Raises RunError."""
    report = pathlib.Path(folder) / "imbrex-sessions-report.json"
    report.unlink(missing_ok=True)
    variables = variables_of(start, modes, report, pattern)
    words = [*shlex.split(start.mpirun), "-n", str(start.ranks), "env", *(f"{k}={v}" for k, v in variables.items()), *command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL, cwd=cwd,
                              timeout=start.timeout_s)
    except subprocess.TimeoutExpired as e:
        raise RunError(f"took more than {start.timeout_s:g} s in the modes {modes}") from e
    except OSError as e:
        raise RunError(f"{words[0]} cannot be started: {e.strerror}") from e
    if done.returncode != 0:
        raise RunError(f"exit code {done.returncode} in the modes {modes}: {(done.stderr or done.stdout).strip()[-400:]}")
    if not report.exists():
        raise RunError(f"no report in the modes {modes}: does {command[0]} call MPI_Init and MPI_Finalize, and is it not static?")
    return json.loads(report.read_text(encoding="utf-8")), done.stdout


def need_driver(start, report):
    """Of a run with queries to the driver: every rank had one. Raises RunError."""
    if start.delay_ns is None and not all(r["has_driver"] for r in report["per_rank"]):
        raise RunError("the ranks have no driver to ask: give --delay-ns")
