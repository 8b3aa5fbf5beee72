"""Runs programs in virtual time and reads from their reports what they take."""

import dataclasses
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


class PredictError(Exception):
    """Something of the user's that cannot be; the text says what to do."""


@dataclasses.dataclass
class Candidate:
    """One setting of the program on one size of the machine: microseconds of an iteration (or of the whole run), over the seeds."""

    name: str
    values: list[float]
    parts: dict[str, float]  # microseconds of a PE or a GPU in that time: launch, message, other, idle, gpu
    imbalance: float

    @property
    def us(self):
        return statistics.median(self.values)

    @property
    def low(self):
        return min(self.values)

    @property
    def high(self):
        return max(self.values)

    def share(self, part):
        return self.parts.get(part, 0) / self.us if self.us > 0 else 0

    def to_json(self):
        return {"name": self.name, "us": self.us, "low": self.low, "high": self.high, "values": self.values, "parts_us": self.parts,
                "imbalance": self.imbalance}


@dataclasses.dataclass
class Prediction:
    gpus: int
    candidates: list[Candidate]

    @property
    def best(self):
        return min(self.candidates, key=lambda c: c.us)

    def to_json(self):
        return {"gpus": self.gpus, "best": self.best.name, "candidates": [c.to_json() for c in self.candidates]}


def machine_facts(bin_folder, machine):
    done = subprocess.run([str(bin_folder / "imbrex"), "machines", machine, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PredictError(done.stderr.strip().removeprefix("imbrex: "))
    facts = json.loads(done.stdout)
    if facts["gpus"] == 0:
        raise PredictError(f"{machine} has no GPUs")
    return facts


def program_path(name, bin_folder):
    if "/" in name:
        return name
    if (bin_folder / name).exists():
        return str(bin_folder / name)
    if found := shutil.which(name):
        return found
    raise PredictError(f"there is no program '{name}' in {bin_folder} or in the PATH: give its path")


def is_jacobi(program):
    return pathlib.PurePath(program).name == "jacobi3d"


def run(words, report, timeout):
    """The machine's report, or an error with what the program said."""
    try:
        done = subprocess.run([*words, f"--imbrex-machine-report={report}"], capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise PredictError(f"took more than {timeout:.0f} s: {' '.join(words)}") from None
    except OSError as e:
        raise PredictError(f"{words[0]}: {e.strerror}") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["nothing was said"]
        said = next((l for l in lines if l.startswith("imbrex: error")), lines[-1])  # others' backtraces may follow it
        raise PredictError(f"{' '.join(words)} ended with {done.returncode}: {said}")
    if not pathlib.Path(report).exists():
        raise PredictError(f"{words[0]} has ended well, but has written no report of a simulated machine: is it a program of imbrex, "
                           "and built with toml++?")
    return json.loads(pathlib.Path(report).read_text(encoding="utf-8"))


def seconds_of(report):
    """Of a PE, or of a GPU, on the average."""
    pes = report["pe_seconds"]
    n = report["pes"]
    parts = {"launch": pes["launch"], "message": pes["message"], "other": pes["dispatch"] + pes["notice"] + pes["own"], "idle": pes["idle"]}
    parts = {k: v / n for k, v in parts.items()}
    parts["gpu"] = report["gpu_busy_seconds"] / max(report["gpus"], 1)
    return parts


class WholeRun:
    """A program of whom nothing is known: all of its run."""

    def __init__(self, words, options):
        self.words = [*words, *options]

    def settings(self, o):
        return [("", ())]

    def measure(self, more, machine, folder, timeout):
        report = run([*self.words, *more, *machine], f"{folder}/machine.json", timeout)
        parts = {k: v * 1e6 for k, v in seconds_of(report).items()}
        mean = report["gpu_busy_seconds"] / max(report["gpus"], 1)
        return report["virtual_seconds"] * 1e6, parts, report["busiest_gpu_seconds"] / mean if mean > 0 else 1.0


class Jacobi(WholeRun):
    """Of an iteration: two runs that differ by some of them."""

    def settings(self, o):
        return [(f"ODF {odf}, {'no fusion' if f == 'none' else 'fusion ' + f}", ("--odf", str(odf), "--fusion", f))
                for odf in o.odf for f in o.fusion.split(",")]

    def __init__(self, words, options, iterations):
        super().__init__([*words, "--device", "cuda", "--repeats", "1", "-w", "2", "--quiet"], options)
        self.iterations = iterations

    def measure(self, more, machine, folder, timeout):
        few, many = self.iterations, 2 * self.iterations
        reports, times = [], []
        for count in (few, many):
            own = f"{folder}/jacobi.json"
            reports.append(run([*self.words, "-i", str(count), "--report", own, *more, *machine], f"{folder}/machine.json", timeout))
            times.append(json.loads(pathlib.Path(own).read_text(encoding="utf-8"))["time_per_iteration_us"]["median"] * count)
        each = 1e6 / (many - few)
        a, b = map(seconds_of, reports)
        parts = {k: (b[k] - a[k]) * each for k in b}
        us = (times[1] - times[0]) / (many - few)
        parts["idle"] = max(0.0, us - parts["launch"] - parts["message"] - parts["other"])  # the end of a run is idle, too
        mean = reports[1]["gpu_busy_seconds"] / reports[1]["gpus"]
        return us, parts, reports[1]["busiest_gpu_seconds"] / mean if mean > 0 else 1.0


def predict(o, bin_folder, facts):
    words = [program_path(o.program, bin_folder)]
    program = Jacobi(words, o.options, o.iterations) if is_jacobi(o.program) else WholeRun(words, o.options)
    settings = program.settings(o)
    total, done, began = len(o.gpus) * len(settings) * o.seeds, 0, time.monotonic()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for gpus in o.gpus:
            nodes = -(-gpus // facts["gpus"])
            candidates = []
            for name, more in settings:
                measured = []
                for seed in range(1, o.seeds + 1):
                    machine = [f"--imbrex-machine={o.machine}", f"--imbrex-nodes={nodes}", f"--imbrex-ranks={gpus}",
                               "--imbrex-device=cuda", f"--imbrex-machine-seed={seed}", "--imbrex-machine-data=off"]
                    measured.append(program.measure(more, machine, folder, o.timeout))
                    done += 1
                    left = (time.monotonic() - began) / done * (total - done)
                    print(f"[{done}/{total}, about {left:.0f} s left] {gpus} GPUs {name} {measured[-1][0]:.1f} us", file=sys.stderr, flush=True)
                parts = {k: statistics.median(m[1][k] for m in measured) for k in measured[0][1]}
                candidates.append(Candidate(name, [m[0] for m in measured], parts, statistics.median(m[2] for m in measured)))
            found.append(Prediction(gpus, candidates))
    return found
