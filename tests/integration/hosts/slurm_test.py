#!/usr/bin/env python3
"""Jobs under Slurm, on a cluster of two nodes on this machine.

  slurm_test.py --bin FOLDER --root FOLDER --place FOLDER --mpirun COMMAND [--sessions LIBRARY]

srun computes what one process does, over MPI and UCX; the batch script that `imbrex new` writes gives each rank its
cores; a job that is warned by a signal makes a checkpoint, and goes on from it; one that loses a rank ends with an
error, and goes on by itself. Exit status 0: all is well, 1: it is not, 77: not possible here, and SKIPPED says why.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import network_namespaces
import slurm_cluster

FAILURES = []
END_LIMIT_S = 60
FIELD = ["-x", "48", "-y", "40", "-z", "44", "-w", "2", "--repeats", "1", "--device", "host", "--quiet"]
GRID = [*FIELD, "-c", "8"]
RANKS = ["srun", "--nodes=2", "--ntasks-per-node=2", "--ntasks=4"]


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


class job_starter:
    def __init__(self, options, cluster, info):
        self.bin, self.root, self.cluster, self.sessions = options.bin, options.root, cluster, options.sessions
        self.jacobi = os.path.join(self.bin, "jacobi3d")
        self.folder, self.info = cluster.folder, info

    def file(self, name):
        return os.path.join(self.folder, name)

    def ended_well(self, *words):
        done = self.cluster.run(*words)
        expect(done.returncode == 0, f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def report(self, launcher, *words):
        path = self.file("report.json")
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        self.ended_well(*launcher, self.jacobi, *GRID, *words, "--report", path)
        if not os.path.exists(path):
            return {}
        with open(path) as f:
            return json.load(f)

    def ranks_run(self):
        """Waits until there are ranks on the second node, and a little more: until signals do not end them any more."""
        deadline = time.monotonic() + END_LIMIT_S
        while not self.cluster.network.pids(1, self.jacobi) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)

    def under_way(self, job, checkpoints):
        """Waits until the job's first checkpoint is there."""
        deadline = time.monotonic() + END_LIMIT_S
        while time.monotonic() < deadline and job.poll() is None:
            if whole_checkpoints(checkpoints):
                return True
            time.sleep(0.1)
        expect(False, f"the job has made no checkpoint: exit {job.poll()}")
        return False


def whole_checkpoints(folder):
    """Their names, without what is still being written."""
    return [name for name in os.listdir(folder) if name.isdigit()] if os.path.isdir(folder) else []


def same_bits(s):
    """Ranks that srun starts find each other, and the same field as one process."""
    reference = s.report([], "-i", "60", "--pes", "1")["field_hash"]
    transports = [t for t in ("mpi", "ucx") if s.info["transports"][t]["present"]]
    for transport in transports:
        report = s.report(RANKS, "-i", "60", "--pes", "1", f"--imbrex-transport={transport}")
        expect(report.get("field_hash") == reference, f"srun over {transport}: {report.get('field_hash')}, not {reference}")
        expect(report.get("ranks") == 4, f"srun over {transport}: {report.get('ranks')} ranks, not 4")
    print(f"srun, 4 ranks on 2 nodes, over {transports}: field hash {reference}")


def wrong_pmi(s):
    """Without a PMI each process would be a job of its own; that is said."""
    done = s.cluster.run(*RANKS, "--mpi=none", os.path.join(s.bin, "01_hello"))
    expect(done.returncode != 0 and "--mpi=pmix" in done.stderr, f"srun --mpi=none: exit {done.returncode}: {done.stderr}")
    print("srun --mpi=none: refused, with the remedy")


def batch(s):
    """The script of `imbrex new`: each rank has its cores, and a PE on each."""
    with open(os.path.join(s.root, "share", "template", "job.slurm")) as f:
        text = f.read()
    report = s.file("batch.json")
    own = f"{s.jacobi} {' '.join(GRID)} -i 40 --report {report}"
    for old, new in (("build/@name@", own), ("@name@", "tiles"), ("--ntasks-per-node=2", "--ntasks-per-node=1"),
                     ("--cpus-per-task=16", f"--cpus-per-task={slurm_cluster.CORES_PER_NODE}")):
        expect(old in text, f"share/template/job.slurm has no '{old}'")
        text = text.replace(old, new)
    script = s.file("job.slurm")
    with open(script, "w") as f:
        f.write(text)
    s.ended_well("sbatch", "--wait", f"--output={s.file('batch.output')}", script)
    if not os.path.exists(report):
        with open(s.file("batch.output")) as f:
            expect(False, f"the batch job has written no report: {f.read()}")
        return
    with open(report) as f:
        shape = json.load(f)
    expect((shape["ranks"], shape["pes"]) == (2, slurm_cluster.CORES_PER_NODE),
           f"the batch job had {shape['ranks']} ranks of {shape['pes']} PEs")
    with open(script, "w") as f:
        f.write(text.replace(own, "sh -c nproc"))
    s.ended_well("sbatch", "--wait", f"--output={s.file('cores.output')}", script)
    with open(s.file("cores.output")) as f:
        cores = f.read().split()
    expect(cores == [str(slurm_cluster.CORES_PER_NODE)] * 2, f"the batch job's ranks were bound to these numbers of cores: {cores}")
    print(f"sbatch: {shape['ranks']} ranks of {shape['pes']} PEs, bound to {cores} cores")


def warned(s):
    """As `sbatch --signal=USR1@120` warns: a checkpoint, from which the next job goes on, on another number of ranks."""
    checkpoints, path, iterations = s.file("warned"), s.file("goes-on.json"), "40000"
    own = [s.jacobi, *GRID, "--point-every", "10", f"--imbrex-checkpoint={checkpoints}", "--imbrex-checkpoint-every=0",
           "-i", iterations, "--pes", "1"]
    with open(s.file("warned.output"), "w") as output:
        job = s.cluster.popen(*RANKS, "--job-name=warned", *own, stdout=output, stderr=output)
        s.ranks_run()
        s.ended_well("scancel", "--signal=USR1", "--name=warned")
        if s.under_way(job, checkpoints):
            s.ended_well("scancel", "--name=warned")
        job.wait(END_LIMIT_S)
    expect(job.returncode != 0, "a cancelled job ended as if all were well")
    s.ended_well("srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", *own, f"--imbrex-restart={checkpoints}",
                 "--report", path)
    if not os.path.exists(path):
        return  # why is among the failures
    reference = s.report([], "-i", iterations, "--pes", "1")["field_hash"]
    with open(path) as f:
        field_hash = json.load(f)["field_hash"]
    expect(field_hash == reference, f"after a warning and a restart: {field_hash}, not {reference}")
    print(f"warned by SIGUSR1: a checkpoint; cancelled: exit {job.returncode}; gone on with two ranks: the same bits")


def lost_rank(s):
    """A killed rank ends the job, and `imbrex run` starts it again from where it was."""
    reference = s.report([], "-i", "6000", "--pes", "1")["field_hash"]
    checkpoints, report = s.file("lost"), s.file("lost.json")
    own = [s.jacobi, *GRID, "--point-every", "10", f"--imbrex-checkpoint={checkpoints}", "--imbrex-checkpoint-every=5",
           "-i", "6000", "--pes", "1", "--report", report]
    with open(s.file("lost.output"), "w") as output:
        job = s.cluster.popen(os.path.join(s.bin, "imbrex"), "run", "--restart-on-failure", "--", *RANKS, *own, stdout=output, stderr=output)
        killed = s.under_way(job, checkpoints) and kill_one(s)
        job.wait(2 * END_LIMIT_S)
    with open(s.file("lost.output")) as f:
        text = f.read()
    expect(killed, "there was no rank to kill")
    expect(job.returncode == 0, f"imbrex run: exit {job.returncode}\n{text}")
    with open(report) as f:
        field_hash = json.load(f)["field_hash"]
    expect(field_hash == reference, f"after a lost rank: {field_hash}, not {reference}")
    print("a rank is killed: the job ends, is started again, and ends with the same bits")


def kill_one(s):
    pids = s.cluster.network.pids(1, s.jacobi)
    for pid in pids[:1]:
        os.kill(pid, signal.SIGKILL)
    return bool(pids)


def sessions(s):
    """The library is handed on by srun, and sees all ranks."""
    if not s.sessions:
        print("skipped: no libimbrex_sessions.so")
        return
    report = s.file("sessions.json")
    s.ended_well(*RANKS, "env", f"LD_PRELOAD={s.sessions}", "IMBREX_SESSIONS=count", f"IMBREX_SESSIONS_OUTPUT={report}",
                 s.jacobi, *FIELD, "-i", "20", "--impl", "mpi")
    expect(os.path.exists(report), "libimbrex_sessions.so wrote no report under srun")
    if os.path.exists(report):
        with open(report) as f:
            ranks = json.load(f)["ranks"]
        expect(ranks == 4, f"the report of libimbrex_sessions.so has {ranks} ranks, not 4")
        print(f"libimbrex_sessions.so under srun: a report of {ranks} ranks")


def tools(s):
    """`imbrex doctor` as a step of several tasks tries jobs of its own, and `imbrex mpi-check` takes srun as a launcher."""
    doctor = s.cluster.run(*RANKS, os.path.join(s.bin, "imbrex"), "doctor")
    jobs = [line for line in doctor.stdout.splitlines() if " a job " in line and "ok" in line]
    expect(len(jobs) >= 4, f"srun imbrex doctor: jobs of one process do not run on 4 tasks: {doctor.stdout}{doctor.stderr}")
    if s.sessions:
        place = s.file("check")
        s.ended_well(os.path.join(s.bin, "imbrex"), "mpi-check", "--output", place, "--", *RANKS, s.jacobi, *FIELD, "-i", "20",
                     "--impl", "mpi")
        print(f"imbrex doctor on each task, {len(jobs)} jobs; imbrex mpi-check: {len(os.listdir(place))} files")


def skip_unless_open_mpi(mpirun):
    """Why not, else None: the cluster's PMI is PMIx."""
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    return None if re.search(r"Open MPI|OpenRTE|PRRTE", version) else f"slurm: written for Open MPI, and {mpirun} is another MPI's"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    parser.add_argument("--root", required=True, type=os.path.abspath)
    parser.add_argument("--place", required=True, type=os.path.abspath, help="where files go")
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--sessions", type=os.path.abspath)
    return parser.parse_args([w for w in sys.argv[1:] if w])  # what a build does not have is empty


def main():
    options = parse()
    known = subprocess.run([os.path.join(options.bin, "imbrex"), "info", "--json"], capture_output=True, text=True, check=True)
    refusal = slurm_cluster.refusal() or skip_unless_open_mpi(options.mpirun) or network_namespaces.refusal()
    if refusal:
        print(f"SKIPPED: {refusal}")
        return 77
    os.makedirs(options.place, exist_ok=True)
    folder = tempfile.mkdtemp(dir=options.place)
    try:
        with network_namespaces.network(2) as n, slurm_cluster.slurm_cluster(n, folder) as cluster:
            s = job_starter(options, cluster, json.loads(known.stdout))
            for group in (same_bits, wrong_pmi, batch, warned, lost_rank, sessions, tools):
                group(s)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for failure in FAILURES:
        print("FAILED:", failure)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
