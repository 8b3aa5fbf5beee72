"""The programs that programs.py compares: read from JSON, and run one after another in folders of their own.

A plan is {"programs": [...]}, each with
  name     how tables call it
  command  the program and its arguments, without mpirun
  prepare  what a shell does first in the run's folder, as copying an input there (optional)
  steps    how many steps {steps} stands for, where the run is to be made longer or shorter (optional)
  same     a regular expression: what matches must be the same in every run, and something must match
  result   the file in which it is looked for (optional: what the program prints)
In `command` and `prepare` {bin}, {ranks}, {side} (the cube root of the ranks) and {steps} are replaced.
"""

import dataclasses
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import tempfile

from session_run import RunError, run


class PlanError(Exception):
    """Something in a plan that cannot be; the text says what to do."""


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    command: str
    same: str
    prepare: str = ""
    steps: int | None = None
    result: str = ""

    def filled(self, text, places, steps):
        for name, value in {**places, "steps": steps}.items():
            text = text.replace("{" + name + "}", str(value))
        return text


def check_program(entry):
    known = {f.name for f in dataclasses.fields(Program)}
    name = entry.get("name", "a program without a name")
    for key in ("name", "command", "same"):
        if not entry.get(key):
            raise PlanError(f"{name} has no '{key}'")
    for key in entry:
        if key not in known:
            raise PlanError(f"{name}: '{key}' is not known: give {', '.join(sorted(known))}")
    uses_steps = "{steps}" in entry["command"] + entry.get("prepare", "")
    if uses_steps != ("steps" in entry):
        raise PlanError(f"{name}: 'steps' and {{steps}} go together, in the command or in what prepares it")
    try:
        re.compile(entry["same"])
    except re.error as e:
        raise PlanError(f"{name}: 'same' is no regular expression: {e}") from e
    return Program(**entry)


def read_plan(path):
    try:
        entries = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["programs"]
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise PlanError(f"{path} is no plan: {type(e).__name__} {e}") from e
    programs = [check_program(e) for e in entries]
    names = [p.name for p in programs]
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"{name} is there twice")
    return programs


def results_in(program, printed, folder):
    """What must be the same in every run, as one short word."""
    text = printed
    if program.result:
        try:
            text = (pathlib.Path(folder) / program.result).read_text(encoding="utf-8", errors="replace")
        except OSError as e:
            raise RunError(f"it left no {program.result}: {e.strerror}") from e
    found = [m.group(0) for m in re.finditer(program.same, text, re.MULTILINE)]
    if not found:
        raise RunError(f"nothing of its results matches '{program.same}'")
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:16]


def run_program(start, program, places, steps, modes, pattern=""):
    """(The library's report, the results as a word). Raises RunError."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as for_report:
        if program.prepare:
            done = subprocess.run(["sh", "-ec", program.filled(program.prepare, places, steps)], capture_output=True, text=True, check=False, cwd=folder)
            if done.returncode != 0:
                raise RunError(f"preparing it fails: {done.stderr.strip()[-300:]}")
        command = shlex.split(program.filled(program.command, places, steps))
        report, printed = run(start, command, modes, for_report, pattern, folder)
        return report, results_in(program, printed, folder)
