"""Applications of imbrex, run as programs of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ._errors import Error, UsageError


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


def _found_launcher(words: list[str]) -> list[str]:
    if words and shutil.which(words[0]) is None:
        raise UsageError(f"launcher={' '.join(words)!r}: there is no program {words[0]} on the PATH")
    return words


def run_application(name: str, launcher: str = "", trace: bool = False, **options: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report, events = Path(folder, "report.json"), Path(folder, "trace.json")
        short = {k: v for k, v in options.items() if len(k) == 1}
        words = [w for k, v in short.items() if v is not None for w in (f"-{k}", str(v))]
        words += _words({k: v for k, v in options.items() if len(k) > 1})
        words += ["--report", str(report)]
        if trace:
            words.append(f"--imbrex-trace={events}")
        done = subprocess.run([*_found_launcher(launcher.split()), _find(name), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Error(f"{name} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}".strip())
        if not report.exists():
            raise UsageError(f"{name} has written no report: imbrex.run(name) is for applications that have --report, as jacobi3d")
        result = json.loads(report.read_text())
        if trace:
            result["trace"] = json.loads(events.read_text())
    return result
