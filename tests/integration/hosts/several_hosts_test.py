#!/usr/bin/env python3
"""Runs jobs over TCP between network namespaces, as if each were a host of its own.

  several_hosts_test.py GROUP --bin FOLDER --mpirun COMMAND [--transport mpi|ucx] [--slow-by netem|wire]

Groups: same_bits (two and three hosts compute what one process does), slow_link (so they do with delay and loss, by
`tc netem` or, on kernels without it, by a wire in user space), failures (a rank is killed, a cable is pulled). Exit
status 0: all is well, 1: it is not, 77: not permitted here, and a line SKIPPED says why.
"""
import argparse
import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import network_namespaces
from network_namespaces import DEVICE, network

FAILURES = []
NUMBERS = itertools.count()
TIME_LIMIT_S = 270  # of all, less than ctest's, so that everything is removed
END_LIMIT_S = 60  # until a job has ended that lost a rank
EXTENTS = (48, 40, 44)
WAYS = ["--odf 1", "--odf 4", "--odf 4 --map round-robin", "--impl mpi --overlap"]
LIKE_ONE_PROCESS = ["--pes", "1"]
DELAY_MS = 2

# Ranks see each other by TCP alone; the launcher notices within seconds when a host falls silent.
OPEN_MPI = ["--bind-to", "none", "--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
            "--mca", "btl_tcp_if_include", DEVICE, "--mca", "oob_tcp_if_include", DEVICE,
            "--mca", "oob_tcp_keepalive_time", "1", "--mca", "oob_tcp_keepalive_intvl", "1",
            "--mca", "oob_tcp_keepalive_probes", "5"]
TRANSPORTS = {"mpi": ([], ["--imbrex-transport=mpi"]),
              "ucx": (["-x", "UCX_TLS=tcp,self", "-x", f"UCX_NET_DEVICES={DEVICE}"], ["--imbrex-transport=ucx"])}
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class skipped(Exception):
    pass


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


class job_starter:
    """Starts a program with one rank on each host of a network."""

    def __init__(self, options, folder):
        self.bin, self.mpirun, self.transport, self.folder = options.bin, options.mpirun, options.transport, folder
        self.jacobi = os.path.join(self.bin, "jacobi3d")

    def start(self, n, words):
        launcher, runtime = TRANSPORTS[self.transport]
        if "--impl" in words and words[words.index("--impl") + 1] == "mpi":
            runtime = []  # it has none
        hosts = ",".join(f"{a}:1" for a in n.addresses)
        ranks = ["-n", str(len(n.hosts)), "--host", hosts]
        agent = ["--mca", "plm_rsh_agent", n.remote_shell]
        output = os.path.join(self.folder, f"output-{next(NUMBERS)}")
        # Jobs that begin while another one ends must not share the folder that the last one out of it removes.
        session = ["--mca", "orte_tmpdir_base", tempfile.mkdtemp(dir=self.folder)]
        with open(output, "w") as f:
            job = n.popen(0, [self.mpirun, *OPEN_MPI, *agent, *session, *launcher, *ranks, *words, *runtime],
                          stdout=f, stderr=subprocess.STDOUT, env={**os.environ, **ROOT_MAY})
        job.output = output  # a file: Open MPI's daemon on a host that is cut off may keep its end of a pipe for long
        return job

    def run(self, n, words):
        """True when it ended well."""
        job = self.start(n, words)
        text = ended(job, 120)
        expect(job.returncode == 0, f"{' '.join(words)} on {len(n.hosts)} hosts: exit {job.returncode}\n{text}")
        return job.returncode == 0

    def report(self, n, words):
        """The report of a jacobi3d on all hosts; without a network, of one process."""
        path = os.path.join(self.folder, f"report-{next(NUMBERS)}.json")
        whole = [self.jacobi, *words, *LIKE_ONE_PROCESS, "--quiet", "--report", path]
        if n is None:
            subprocess.run(whole, check=True, timeout=120)
        elif not self.run(n, whole):
            return {}
        with open(path) as f:
            return json.load(f)

    def program(self, name):
        return os.path.join(self.bin, name)


def ended(job, limit_s):
    """What a job has printed once it is over; None when it is not within the limit."""
    try:
        job.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    with open(job.output) as f:
        return f.read()


def skip_unless_open_mpi_4(mpirun):
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True)
    if not re.search(r"\((Open MPI|OpenRTE)\) 4\.", version.stdout):
        first = (version.stdout + version.stderr).strip().split("\n")[0]
        raise skipped(f"several hosts: written for the mpirun of Open MPI 4; this one is '{first}'")


def skip_unless_built(starter):
    words = [starter.mpirun, "-n", "1", starter.jacobi, "-x", "8", "-i", "1", "--quiet",
             f"--imbrex-transport={starter.transport}"]
    probe = subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **ROOT_MAY})
    refused = re.search(r"imbrex: error: (.*(?:cannot be used|has no UCX|not built).*)", probe.stderr)
    if refused:
        raise skipped(f"several hosts over {starter.transport}: {refused.group(1)}")


def small(iterations):
    x, y, z = map(str, EXTENTS)
    return ["-x", x, "-y", y, "-z", z, "-w", "2", "-i", str(iterations), "--repeats", "1", "--init", "random:5"]


def halo_bytes(iterations, num_ranks):
    """Less than any rank sends, however the grid is cut."""
    return 8 * (iterations - 1) * min(EXTENTS) ** 2 // num_ranks


def expect_same(report, reference, what):
    for key in ("field_hash", "iterations"):
        expect(report.get(key) == reference[key], f"{what}: {key} is {report.get(key)}, not {reference[key]}")


def same_bits(starter, _):
    iterations = 100
    reference = starter.report(None, small(iterations))
    ways = [w for w in WAYS if starter.transport == "mpi" or "--impl mpi" not in w]
    for num_hosts in (2, 3):
        with network(num_hosts) as n:
            for way in ways:
                before = n.sent_bytes(1)
                report = starter.report(n, [*small(iterations), *way.split()])
                sent = n.sent_bytes(1) - before
                expect_same(report, reference, f"{num_hosts} hosts, {way}")
                expect(report.get("ranks") == num_hosts, f"{way}: {report.get('ranks')} ranks on {num_hosts} hosts")
                expect(sent >= halo_bytes(iterations, num_hosts), f"{way}: only {sent} bytes by a host's device")
            starter.run(n, [starter.program("job_test"), "work", "--imbrex-pes=2"])
            if num_hosts == 3:
                brief_jobs(starter, n)
            print(f"{num_hosts} hosts: {len(ways)} ways compared with field hash {reference['field_hash']}, "
                  f"the last with {sent} bytes from a host; job_test work")


def brief_jobs(starter, n):
    """They end while ranks still open their ways to each other: several at once, so that some do so slowly."""
    for _ in range(4):
        words = [starter.jacobi, *small(18), *LIKE_ONE_PROCESS, "--quiet"]
        for job in [starter.start(n, words) for _ in range(4)]:
            text = ended(job, 120)
            expect(job.returncode == 0, f"one of four brief jobs at once: exit {job.returncode}\n{text}")


def ways_to_slow(wanted):
    """Whether by a wire in user space, and a line about it."""
    if wanted == "wire":
        return True, "by a wire in user space"
    refusal = network_namespaces.netem_refusal()
    if refusal is None:
        return False, "by tc netem"
    if wanted == "netem":
        raise skipped(f"several hosts: {refusal}")
    return True, f"by a wire in user space, since {refusal}"


def slow_link(starter, slow_by):
    by_wire, how = ways_to_slow(slow_by)
    print(f"slow link: {how}")
    try:
        with network(2, by_wire) as n:
            delayed(starter, n)
            lossy(starter, n)
    except network_namespaces.not_permitted as e:
        raise skipped(f"several hosts: no delay and loss: {e}") from e


def delayed(starter, n):
    n.slow(DELAY_MS, 0)
    round_trip = n.round_trip_ms(0, 1)
    print(f"delay {DELAY_MS} ms each way: round trip {round_trip:.2f} ms")
    expect(1.95 * DELAY_MS <= round_trip <= 2 * DELAY_MS + 10, f"a round trip with delay takes {round_trip} ms")
    large = "-x 144 -y 144 -z 144 -w 5 -i 100 --repeats 1".split()
    reference = starter.report(None, large)
    for odf in ("1", "4"):
        words = [*large, "--odf", odf]
        n.slow(0, 0)
        fast = iteration_ms(starter.report(n, words))
        n.slow(DELAY_MS, 0)
        report = starter.report(n, words)
        slow = iteration_ms(report)
        expect_same(report, reference, f"delay, ODF {odf}")
        # A halo depends on the neighbour's of the iteration before: no schedule is faster than the link.
        expect(slow >= 0.95 * DELAY_MS, f"ODF {odf}: {slow} ms per iteration over a link with {DELAY_MS} ms of delay")
        print(f"ODF {odf}: {fast:.2f} ms per iteration, with delay {slow:.2f}: it costs {slow - fast:.2f} ms")


def iteration_ms(report):
    return report.get("time_per_iteration_us", {}).get("median", 0.0) / 1e3


def lossy(starter, n):
    words = small(400)
    reference = starter.report(None, words)
    n.slow(0, 1)
    for odf in ("1", "4"):
        lost, again = n.num_lost(), n.segments_sent_again()
        report = starter.report(n, [*words, "--odf", odf])
        lost, again = n.num_lost() - lost, n.segments_sent_again() - again
        expect_same(report, reference, f"loss, ODF {odf}")
        expect(lost > 0 and again > 0, f"loss, ODF {odf}: {lost} frames lost, {again} segments sent again")
        print(f"loss 1 %, ODF {odf}: {lost} frames lost, {again} segments sent again, {iteration_ms(report):.2f} ms "
              "per iteration")


def failures(starter, _):
    with network(2) as n:
        expect_end(starter, n, "a killed rank", lambda: os.kill(n.pids(1, starter.jacobi)[0], signal.SIGKILL))
        expect_end(starter, n, "a pulled cable", lambda: n.cut(1))


def expect_end(starter, n, what, befall):
    """A job that is struck in its midst ends with an error, in time, and leaves no process on any host."""
    job = starter.start(n, [starter.jacobi, *small(100000000), *LIKE_ONE_PROCESS, "--quiet"])
    if not under_way(n, job, starter.jacobi):
        expect(False, f"{what}: the job did not start: exit {job.poll()}: {ended(job, 0)}")
        return
    befall()
    start = time.monotonic()
    text = ended(job, END_LIMIT_S)
    if text is None:
        expect(False, f"{what}: the job still runs after {END_LIMIT_S} s")
        return
    seconds = time.monotonic() - start
    expect(job.returncode != 0, f"{what}: the job ended as if all were well")
    error = re.search(r".*(?:exited on signal|lost communication|imbrex: error:).*", text)
    expect(error, f"{what}: no error in: {text}")
    left = none_left(n, starter.jacobi, END_LIMIT_S - seconds)
    expect(not left, f"{what}: still running after the job's end: {left}")
    print(f"{what}: exit {job.returncode} after {seconds:.1f} s: {error.group(0).strip() if error else ''}")


def under_way(n, job, program):
    """Waits until every host has sent some halos of this program."""
    hosts = range(len(n.hosts))
    before = [n.sent_bytes(k) for k in hosts]
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and job.poll() is None:
        if all(n.pids(k, program) and n.sent_bytes(k) > before[k] + 1e6 for k in hosts):
            return True
        time.sleep(0.1)
    return False


def none_left(n, program, limit_s):
    deadline = time.monotonic() + limit_s
    while (left := [n.pids(k, program) for k in range(len(n.hosts))]) and any(left) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [pid for pids in left for pid in pids]


GROUPS = {"same_bits": same_bits, "slow_link": slow_link, "failures": failures}


def end_on_signals():
    """Signals, and the time limit, leave by way of every `finally`."""

    def leave(number, _):
        for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
            signal.signal(other, signal.SIG_IGN)
        why = "the time limit" if number == signal.SIGALRM else signal.Signals(number).name
        sys.exit(f"FAILED: {why} ended the test")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, leave)
    signal.alarm(TIME_LIMIT_S)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=tuple(GROUPS))
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--transport", choices=tuple(TRANSPORTS), default="mpi")
    parser.add_argument("--slow-by", choices=("netem", "wire"))
    return parser.parse_args()


def main():
    options = parse()
    end_on_signals()
    try:
        with contextlib.ExitStack() as stack:
            starter = job_starter(options, stack.enter_context(tempfile.TemporaryDirectory()))
            skip_unless_open_mpi_4(options.mpirun)
            skip_unless_built(starter)
            refusal = network_namespaces.refusal()
            if refusal:
                raise skipped(refusal)
            GROUPS[options.group](starter, options.slow_by)
    except skipped as e:
        print(f"SKIPPED: {e}")
        return 77
    for f in FAILURES:
        print("FAILED:", f)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
