"""Runs the commands of figures, in turns, and keeps what each gave: a run that was interrupted goes on where it stopped."""

import dataclasses
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

from model import NotThat


@dataclasses.dataclass
class Outcome:
    values: list[float]
    error: str = ""


def text_of(command):
    """How a command is kept and shown: programs without their folders, so that other builds' are the same."""
    return shlex.join(pathlib.PurePath(w).name if w.startswith(("/", "./", "../", "build/")) else w for w in command)


class Results:
    """A line of JSON for each run, in the folder of the figures; and what is read from them."""

    def __init__(self, path):
        self.path = path
        self.runs = {}  # (command, repetition) -> report, or the error of the run as a text
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    run = json.loads(line)
                except ValueError:
                    continue  # the last line of a run that was killed
                self.runs[run["command"], run["repetition"]] = run.get("report") or run["error"]

    def add(self, command, repetition, report, error, seconds):
        self.runs[command, repetition] = report or error
        entry = {"command": command, "repetition": repetition, "date": time.strftime("%Y-%m-%dT%H:%M:%S"), "seconds": round(seconds, 3)}
        entry |= {"report": report} if report else {"error": error}
        with self.path.open("a", encoding="utf-8") as f:
            f.write(json.dumps(entry) + "\n")

    def outcome(self, point, repetitions):
        """Of all repetitions that there are of a point."""
        if point.needs:
            return Outcome([], point.needs)
        values, error = [], ""
        for repetition in range(repetitions):
            found = self.runs.get((text_of(point.command), repetition))
            if isinstance(found, str):
                error = found
            elif found is not None:
                try:
                    values.append(float(point.value(found)))
                except NotThat as e:
                    error = str(e)
                except (KeyError, TypeError, IndexError) as e:
                    error = f"its report does not have {e}"
        return Outcome(values, "" if values else error or "not measured yet")


def environment(command, repetition):
    """Runs in virtual time differ by the seed of their noise."""
    if not any(w.startswith("--imbrex-machine=") for w in command):
        return None
    return os.environ | {"IMBREX_MACHINE_SEED": str(repetition + 1)}


def run_once(command, report_by, timeout_s, repetition=0):
    """The report, or what went wrong."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        words = [*command, *report_by, report.name]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False, env=environment(command, repetition))
        except subprocess.TimeoutExpired:
            return None, f"took more than {timeout_s:.0f} s"
        except OSError as e:
            return None, str(e)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            return None, f"exit code {done.returncode}: {lines[-1] if lines else 'nothing was said'}"
        try:
            with open(report.name, encoding="utf-8") as f:
                return json.load(f), ""
        except ValueError:
            return None, "it wrote no report"


def measure(figures, results, repetitions, timeout_s, say=lambda text: print(text, file=sys.stderr, flush=True)):
    """All commands of all figures once, then all a second time, and so on: what else the machine does hits all alike. Commands that
    several points share run once. One that failed is not tried again in later repetitions."""
    commands = list(dict.fromkeys((p.command, p.report_by) for f in figures for panel in f.panels for p in panel.points if not p.needs))
    total, done, began = len(commands) * repetitions, 0, time.monotonic()
    for repetition in range(repetitions):
        for command, report_by in commands:
            done += 1
            text = text_of(command)
            if (text, repetition) in results.runs or isinstance(results.runs.get((text, 0)), str):
                continue
            started = time.monotonic()
            report, error = run_once(command, report_by, timeout_s, repetition)
            took = time.monotonic() - started
            results.add(text, repetition, report, error, took)
            left = (time.monotonic() - began) / done * (total - done)
            say(f"[{done}/{total}, about {left:.0f} s left] {took:.1f} s {'' if report else 'FAILED: ' + error + ' '}{text}")
