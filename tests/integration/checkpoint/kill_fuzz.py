#!/usr/bin/env python3
"""Jobs whose processes are killed at random moments, and restarted from their last checkpoint on random numbers of ranks and
PEs, end with the bits of an undisturbed one.

  kill_fuzz.py --program jacobi3d [--tool imbrex] [--mpirun 'mpirun -n'] [--kills 100] [--seed 1]

Moments are random, and so lie in the middle of iterations, of checkpoints, of balancing and of moves, which are all
frequent. With --tool a part of the jobs is restarted by `imbrex run`.
"""
import argparse
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

GRID = ["-x", "48", "-y", "40", "-z", "56", "-c", "12", "-w", "2", "--repeats", "1", "--device", "host", "--quiet"]
BUSY = ["--imbalance", "4", "--point-every", "10", "--imbrex-checkpoint-every=1", "--imbrex-pin=off",
        "--imbrex-balance-every-ms=20"]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--tool")
    parser.add_argument("--mpirun", default="")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=150, help="seconds that a job may take after a kill")
    return parser.parse_args()


def processes_below(group):
    """A process and its descendants, those that live: number to what it runs."""
    parents, running = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as f:
                state, parent = f.read().rsplit(")", 1)[1].split()[:2]
            parents[int(entry)] = int(parent)
            if state != "Z":
                running[int(entry)] = os.path.realpath(f"/proc/{entry}/exe")
        except OSError:
            continue  # it has ended

    def descends(pid):
        while pid > 1 and pid != group:
            pid = parents.get(pid, 0)
        return pid == group

    return {pid: exe for pid, exe in running.items() if descends(pid)}


def ranks_of(program, group):
    return [pid for pid, exe in processes_below(group).items() if exe == os.path.realpath(program)]


def told_of(pid):
    """What a process and its threads are at, for the report of one that hangs."""
    lines = []
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
            lines.append(f"process {pid}: {f.read().replace(chr(0), ' ')}")
        for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            with open(f"/proc/{pid}/task/{thread}/wchan", encoding="utf-8") as f:
                waits_in = f.read()
            lines.append(f"  thread {thread}: {fields[0]}, {int(fields[11]) + int(fields[12])} ticks, in {waits_in}")
    except OSError:
        lines.append("  it has ended")
    if debugger := shutil.which("gdb"):
        stacks = subprocess.run([debugger, "-p", str(pid), "-batch", "-ex", "thread apply all backtrace 24"], check=False,
                                capture_output=True, text=True, timeout=60)
        lines.append(stacks.stdout)
    return "\n".join(lines)


class Job:
    def __init__(self, o, rng):
        self.o, self.rng = o, rng

    def shape(self):
        """A command line for random numbers of ranks and PEs."""
        kind = self.rng.choice(["pes", "loopback", "mpi"] if self.o.mpirun else ["pes", "loopback"])
        if kind == "mpi":
            return shlex.split(self.o.mpirun) + [str(self.rng.randint(1, 3))], ["--pes", str(self.rng.randint(1, 2))]
        ranks = 1 if kind == "pes" else self.rng.randint(2, 3)
        return [], ["--pes", str(self.rng.randint(1, 3)), f"--imbrex-ranks={ranks}", "--imbrex-transport=loopback"]

    def command(self, folder, report, iterations):
        launcher, shape = self.shape()
        strategy = self.rng.choice(["greedy", "refine", "diffusion", "rcb"])
        own = [self.o.program, *GRID, *BUSY, *shape, "-i", str(iterations), "--balance", strategy, "--report", report,
               f"--imbrex-checkpoint={folder}"]
        return launcher + own

    def run_and_kill(self, command, longest):
        """Starts the command and kills one of its ranks after a random time; its exit code, and whether it was killed."""
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as running:
            errors = []
            reader = threading.Thread(target=lambda: errors.append(running.stderr.read()))
            reader.start()
            killed = False
            try:
                running.wait(self.rng.uniform(0.02, longest))
            except subprocess.TimeoutExpired:
                ranks = ranks_of(self.o.program, running.pid)
                if ranks:
                    try:
                        os.kill(self.rng.choice(ranks), signal.SIGKILL)
                        killed = True
                    except ProcessLookupError:
                        pass  # it has just ended
            try:
                code = running.wait(self.o.longest)
            except subprocess.TimeoutExpired:
                self.say_what_hangs(command, running, killed, reader, errors)
            reader.join()
            return code, killed, errors[0]

    def say_what_hangs(self, command, running, killed, reader, errors):
        processes = list(processes_below(running.pid))
        said = "\n".join(told_of(pid) for pid in processes)
        for pid in processes:
            os.kill(pid, signal.SIGKILL)
        reader.join(5)
        sys.exit(f"runs for {self.o.longest} s after {'the kill of a rank' if killed else 'no kill'}: "
                 f"{shlex.join(command)}\n{said}\nIt printed:\n{''.join(errors)}")


def result_of(report):
    with open(report, encoding="utf-8") as f:
        r = json.load(f)
    return r["field_hash"], r["iterations"]


def main():
    o = options()
    os.environ["PMIX_MCA_gds"] = "hash"  # as `imbrex run` does: mpirun may hang without, see its source
    rng = random.Random(o.seed)
    job = Job(o, rng)
    kills = jobs = restarts = 0
    with tempfile.TemporaryDirectory() as here:
        report = f"{here}/report.json"
        plain = [o.program, *GRID, "-i", str(o.iterations), "--pes", "2", "--report", report]
        began = time.monotonic()
        subprocess.run(plain, check=True, stdout=subprocess.DEVNULL, timeout=600)
        longest = max(0.3, 2 * (time.monotonic() - began))
        expected = result_of(report)
        while kills < o.kills:
            folder = f"{here}/checkpoints{jobs}"
            jobs += 1
            by_tool = o.tool is not None and rng.random() < 0.25
            while True:
                if os.path.exists(report):
                    os.remove(report)
                command = job.command(folder, report, o.iterations)
                if by_tool:
                    command = [o.tool, "run", "--restart-on-failure", "--", *command]
                else:
                    command.append("--imbrex-restart=auto")
                code, killed, errors = job.run_and_kill(command, longest if kills < o.kills else 600)
                kills += killed
                if code == 0:
                    break
                if not killed:
                    sys.exit(f"exit code {code} of {shlex.join(command)}:\n{errors}")
                restarts += 1
            if result_of(report) != expected:
                sys.exit(f"seed {o.seed}: job {jobs} ends with {result_of(report)}, undisturbed with {expected}")
    print(f"{kills} kills in {jobs} jobs, {restarts} restarts by hand: all ended with field {expected[0]}")


main()
