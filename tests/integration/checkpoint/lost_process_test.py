#!/usr/bin/env python3
"""A rank is killed in the middle of a job over an MPI with ULFM: the others go on from their checkpoints in memory, in the
same processes, and end with the bits of an undisturbed job.

  lost_process_test.py --program jacobi3d --mpirun 'mpirun --with-ft ulfm -n' [--ranks 3] [--kills 5] [--seed 1] [--grid 96]

Says how long it took from the kill until the job went on, by what rank 0 writes.
"""
import argparse
import json
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--losses", type=int, default=1, help="in each job, one after the other")
    parser.add_argument("--at-once", type=int, default=1, help="so many processes are killed at the same moment")
    parser.add_argument("--apart", type=float, default=0, help="seconds between them at most: also while others recover")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grid", type=int, default=96)
    parser.add_argument("--iterations", type=int, default=3000)
    parser.add_argument("--every", default="0.2s")
    parser.add_argument("--spares", type=int, default=0, help="processes beside the ranks that take the places of lost ones")
    return parser.parse_args()


def ranks_of(program, group):
    """Processes of the job that run the program."""
    parents, running = {}, []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as f:
                parents[int(entry)] = int(f.read().rsplit(")", 1)[1].split()[1])
            if os.path.realpath(f"/proc/{entry}/exe") == os.path.realpath(program):
                running.append(int(entry))
        except OSError:
            continue  # it has ended

    def descends(pid):
        while pid > 1 and pid != group:
            pid = parents.get(pid, 0)
        return pid == group

    return [pid for pid in running if descends(pid)]


def rank_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as f:
        return int(re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", f.read())[1])


class Reader(threading.Thread):
    """Lines with the times at which they came."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.lines = stream, []
        self.start()

    def run(self):
        for line in self.stream:
            self.lines.append((time.monotonic(), line))

    def text(self):
        return "".join(line for _, line in self.lines)

    def wait_for(self, text, times, limit_s, running):
        """When a line with that text came for the so-manieth time; None: it did not."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            came = [at for at, line in list(self.lines) if text in line]
            if len(came) >= times:
                return came[times - 1]
            if running.poll() is not None:
                return None
            time.sleep(0.001)
        return None


def result_of(report):
    with open(report, encoding="utf-8") as f:
        r = json.load(f)
    return r["field_hash"], r["iterations"]


def why_not(mpirun):
    """Why this MPI cannot go on without a rank; empty: it can."""
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Open MPI\)? v?(\d+)", version)
    if found and int(found[1]) >= 5:
        return ""
    return f"{version.splitlines()[0] if version else mpirun} has no ULFM; Open MPI 5 has"


def main():
    o = options()
    if reason := why_not(shlex.split(o.mpirun)[0]):
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    rng = random.Random(o.seed)
    with tempfile.TemporaryDirectory() as here:
        report = f"{here}/report.json"
        grid = ["-x", str(o.grid), "-y", str(o.grid), "-z", str(o.grid), "-c", "12", "-w", "2", "--repeats", "1", "--device",
                "host", "-i", str(o.iterations), "--pes", "1", "--report", report, "--point-every", "10"]
        began = time.monotonic()
        subprocess.run([o.program, *grid, "--imbrex-transport=loopback"], check=True, stdout=subprocess.DEVNULL, timeout=600)
        alone_s = time.monotonic() - began
        expected = result_of(report)
        command = [*shlex.split(o.mpirun), str(o.ranks + o.spares), o.program, *grid, f"--imbrex-checkpoint-memory={o.every}",
                   f"--imbrex-checkpoint-parity={o.at_once}", "--imbrex-pin=off", "--imbrex-log=info",
                   *([f"--imbrex-spare-ranks={o.spares}"] if o.spares else [])]
        took = []
        while len(took) < o.kills:
            os.remove(report)
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  start_new_session=True) as running:
                errors = Reader(running.stderr)
                try:
                    if errors.wait_for("is in memory", 1, 60, running) is None:
                        sys.exit(f"no checkpoint is made: {shlex.join(command)}\n{errors.text()}")
                    for loss in range(1, o.losses + 1):
                        time.sleep(rng.uniform(0, alone_s / o.losses / 3))
                        ranks = ranks_of(o.program, running.pid)
                        killed_at = time.monotonic()
                        worked = False
                        for pid in rng.sample(ranks, min(o.at_once, len(ranks) - 1)):
                            worked |= loss > 1 or rank_of(pid) < o.ranks
                            os.kill(pid, signal.SIGKILL)
                            time.sleep(rng.uniform(0, o.apart))
                        if not worked:  # nobody misses a spare one
                            print("a spare process was killed", flush=True)
                            continue
                        goes_on = errors.wait_for("s after it stopped", loss, 60, running)
                        if goes_on is None:
                            sys.exit(f"does not go on after the kill of a rank (exit code {running.poll()}): {shlex.join(command)}\n{errors.text()}")
                        took.append(goes_on - killed_at)
                    running.wait(300)
                except subprocess.TimeoutExpired:
                    sys.exit(f"hangs after the kill of a rank: {shlex.join(command)}\n{errors.text()}")
                finally:
                    if running.poll() is None:
                        os.killpg(running.pid, signal.SIGKILL)
            if not os.path.exists(report):
                sys.exit(f"exit code {running.returncode} without a result: {shlex.join(command)}\n{errors.text()}")
            if result_of(report) != expected:
                sys.exit(f"seed {o.seed}: ends with {result_of(report)}, undisturbed with {expected}\n{errors.text()}")
            if o.spares and o.losses == o.at_once == 1 and f"goes on with {o.ranks}, of which 1" not in errors.text():
                if "ranks lost" in errors.text():  # else it was a spare one that was killed
                    sys.exit(f"no spare rank took the place of the lost one: {shlex.join(command)}\n{errors.text()}")
            inside = re.findall(r"goes on ([0-9.]+) s after", errors.text())
            if inside:
                print(f"went on {took[-1]:.3f} s after the kill, {', '.join(inside)} s of these after all had stopped; "
                      f"exit code {running.returncode}", flush=True)
        print(f"{len(took)} kills: went on after {statistics.median(took):.3f} s (median), {max(took):.3f} s at most; "
              f"field {expected[0]}")


main()
