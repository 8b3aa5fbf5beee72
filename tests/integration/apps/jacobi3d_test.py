#!/usr/bin/env python3
"""Runs jacobi3d as users do and checks what they rely on.

  jacobi3d_test.py GROUP --bin FOLDER [--mpirun COMMAND...]

Groups: same_bits, balanced, files, bad_input, mpi, seeds, opencl, gpu, gpu_ranks. Prints what it skips and why; exit status 0 when all is well.
"""
import concurrent.futures
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

FAILURES = []
NUMBERS = itertools.count()
# Where there are many cores, several runs at once.
AT_ONCE = max(1, (os.cpu_count() or 1) // 8)


def run(words, code=0, env=None, timeout=120):
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, env={**os.environ, **(env or {})})
    if code is not None and done.returncode != code:
        FAILURES.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def has_ucx(p):
    probe = subprocess.run([p.tool, "info", "--json"], capture_output=True, text=True)
    return probe.returncode == 0 and json.loads(probe.stdout)["transports"]["ucx"]["present"]


class programs:
    def __init__(self, folder, mpirun):
        self.jacobi = os.path.join(folder, "jacobi3d")
        self.tool = os.path.join(folder, "imbrex")
        self.mpirun = mpirun

    def ranks(self, n, *words):
        return [*self.mpirun, "-n", str(n), self.jacobi, *words]


def report_of(words, folder, timeout=120):
    number = next(NUMBERS)
    path = os.path.join(folder, f"report-{number}.json")
    # Of several mpirun at once in one folder the last one out removes what another is making (see imbrex_own_mpi_folders).
    sessions = os.environ.get("OMPI_MCA_orte_tmpdir_base")
    done = run([*words, "--report", path, "--quiet"], timeout=timeout,
               env={"OMPI_MCA_orte_tmpdir_base": f"{sessions}/{number}"} if sessions else None)
    if done.returncode != 0:
        return {}
    with open(path) as f:
        return json.load(f)


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


SMALL = "-x 33 -y 18 -z 27 -w 3 -i 12 --repeats 2 --verify".split()
CASES = {
    "mean": [],
    "weighted periodic": "--alpha 0.3 --beta 0.11 --boundary periodic --init random:3".split(),
    "warm boundary": "--boundary 0.75 --init sine".split(),
    "tolerance": "--tolerance 5 --check-every 3 --init random:9".split(),
}
WAYS = ["-c 1 --pes 1", "-c 1 --pes 2", "-c 8 --pes 1", "-c 12 --pes 2", "-c 30 --pes 3", "--odf 5 --pes 2",
        "-c 12 --pes 2 --map round-robin", "-c 12 --pes 1 --imbrex-ranks 2", "-c 18 --pes 2 --imbrex-ranks 2",
        "-c 12 --pes 1 --imbrex-ranks 3 --imbrex-loopback-delay-us 50 --imbrex-loopback-reorder",
        "-c 12 --pes 2 --imbrex-schedule-seed 4", "-c 1 --pes 1 --steps 5", "-c 4 --pes 2 --steps 4",
        "-c 12 --pes 2 --steps 2", "-c 6 --pes 1 --imbrex-ranks 3 --steps 3 --imbrex-loopback-delay-us 50 --imbrex-loopback-reorder"]
WAYS = [f"--device host {way}" for way in WAYS]  # where there are GPUs, too
# Objects and tasks: within a PE, between PEs, between ranks; few blocks and many; with and without stealing.
WAYS += [f"--impl hetero --device host {way}" for way in
         ("-c 1 --pes 1", "-c 8 --pes 1", "-c 12 --pes 2", "--odf 4 --pes 4", "-c 30 --pes 3",
          "-c 12 --pes 2 --map round-robin", "-c 9 --pes 2 --imbrex-task-stealing=off",
          "-c 12 --pes 1 --imbrex-ranks 2", "-c 18 --pes 2 --imbrex-ranks 2",
          "-c 12 --pes 1 --imbrex-ranks 3 --imbrex-loopback-delay-us 50 --imbrex-loopback-reorder",
          "-c 12 --pes 2 --imbrex-schedule-seed 5")]


def same_bits(p, folder, ways=None, cases_each=len(CASES)):
    """All ways, each in so many of the cases, in turns, and the first way in all."""
    for number, (case, more) in enumerate(CASES.items()):
        hashes = {}
        all_ways = [way for k, way in enumerate(ways or [[p.jacobi, *w.split()] for w in WAYS])
                    if k == 0 or (k + number) % len(CASES) < cases_each]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            reports = list(pool.map(lambda way: report_of([*way, *SMALL, *more], folder), all_ways))
        for way, report in zip(all_ways, reports):
            key = (report.get("field_hash"), report.get("iterations"))
            hashes.setdefault(key, []).append(" ".join(way))
            expect(report.get("verified") is True, f"{case}: {' '.join(way)} was not verified: {report}")
            expect(report.get("max_abs_error") == 0, f"{case}: {' '.join(way)}: error {report.get('max_abs_error')}")
        expect(len(hashes) == 1, f"{case}: different fields: {hashes}")
        if case == "tolerance":
            expect(all(k[1] is not None and k[1] < 12 for k in hashes), f"{case}: never stopped early: {hashes}")
        print(f"{case}: {len(all_ways)} ways, field hash and iterations {list(hashes)}")


def balanced_the_same(p, folder, ways):
    """Blocks that move while they iterate, also between processes with their channels open."""
    base = "--device host -x 48 -c 24 -w 2 -i 150 --repeats 1 --imbalance 6 --tolerance 1e-9 --check-every 10".split()
    expected = report_of([p.jacobi, *base, "--pes", "1"], folder).get("field_hash")
    for way in ways:
        words = [*way, *base, "--balance", "greedy", "--imbrex-balance-every-ms=3"]
        report = report_of(words, folder)
        expect(report.get("field_hash") == expected is not None, f"{' '.join(words)}: another field: {report}")
        expect(report.get("balance", {}).get("moves", 0) > 0, f"{' '.join(words)}: nothing moved: {report}")


def moved_in_the_middle_of_several_steps(p, folder):
    """Blocks of --steps that move, between processes too, and that come back from a checkpoint on other PEs."""
    base = "--device host -x 48 -c 12 -w 2 -i 3000 --repeats 1 --point-every 20 --tolerance 1e-9 --check-every 10".split()
    expected = report_of([p.jacobi, *base, "--pes", "2"], folder).get("field_hash")
    several = [p.jacobi, *base, "--steps", "3"]
    for way in ("--pes 2", "--pes 1 --imbrex-ranks 2"):
        words = [*several, *way.split(), *"--balance greedy --imbrex-balance-every-ms=2 --imbrex-balance-rates=1,0.5".split()]
        report = report_of(words, folder)
        expect(report.get("field_hash") == expected is not None, f"{' '.join(words)}: another field: {report}")
        expect(report.get("balance", {}).get("moves", 0) > 0, f"{' '.join(words)}: nothing moved: {report}")
    checkpoints = os.path.join(folder, "several-steps")
    report_of([*several, "--pes", "2", f"--imbrex-checkpoint={checkpoints}", "--imbrex-checkpoint-every=3"], folder)
    report = report_of([*several, "--pes", "1", "--imbrex-ranks", "2", f"--imbrex-restart={checkpoints}"], folder)
    expect(report.get("field_hash") == expected, f"--steps restarted: another field: {report}")


def balanced(p, folder):
    moved_in_the_middle_of_several_steps(p, folder)
    balanced_the_same(p, folder, [[p.jacobi, *way.split()] for way in (
        "--pes 2", "--pes 1 --imbrex-ranks 2", "--pes 2 --imbrex-ranks 2",
        "--pes 1 --imbrex-ranks 3 --imbrex-loopback-delay-us 50 --imbrex-loopback-reorder")])
    return 0


def tuned(p, folder):
    """What is `auto` is found by trying, leaves nothing behind in the result, and is remembered."""
    os.environ["IMBREX_TUNING"] = os.path.join(folder, "tuning.json")  # as --imbrex-tuning
    base = "--device host -x 40 -y 36 -z 44 -w 2 -i 40 --repeats 1 --init random:3 --tolerance 1e-9 --check-every 8".split()
    expected = report_of([p.jacobi, *base, "-c", "1", "--pes", "1"], folder).get("field_hash")
    for way in ("--pes 1", "--pes 2", "--pes 1 --imbrex-ranks 3", "--pes 2 --imbrex-ranks 2"):
        for auto in ("--odf auto --steps auto", "--odf auto", "--odf 2 --steps auto"):
            words = [p.jacobi, *base, *way.split(), *auto.split()]
            first, second = report_of(words, folder), report_of(words, folder)
            text = " ".join(words)
            expect(first.get("field_hash") == expected is not None, f"{text}: another field: {first}")
            expect("trials" in first.get("tuned", ""), f"{text}: nothing was tried: {first}")
            expect("remembered" in second.get("tuned", ""), f"{text}: not remembered: {second}")
            same = ("field_hash", "chares", "steps")
            expect([first.get(k) for k in same] == [second.get(k) for k in same], f"{text}: {first} and then {second}")
    # What was found for single steps says nothing about three.
    words = [p.jacobi, *base, "--pes", "1", "--odf", "auto"]
    expect("remembered" in report_of(words, folder).get("tuned", ""), f"{words}: not remembered")
    expect("trials" in report_of([*words, "--steps", "3"], folder).get("tuned", ""), f"{words}: taken for 3 steps, too")
    # On GPUs that are simulated, where that is built.
    words = [p.jacobi, *"--device cuda -x 192 -i 100 -w 4 --repeats 1 --odf auto --steps auto --fusion auto".split(),
             "--imbrex-machine=h200-x4", "--imbrex-ranks=1", "--imbrex-gpus=4", "--imbrex-machine-data=off"]
    path = os.path.join(folder, "simulated.json")
    done = run([*words, "--report", path], code=None)
    if done.returncode == 0:
        with open(path) as f:
            expect("trials" in json.load(f)["tuned"], f"{' '.join(words)}: nothing was tried")
        expect("tuned: " in done.stdout, f"the header does not say what was found: {done.stdout}")
    else:
        expect("built" in done.stderr or "knows no machines" in done.stderr, f"{' '.join(words)}: {done.stderr}")
        print(f"skipped: simulated GPUs: {done.stderr.strip()}")
    return 0


def devices_there(p, kind):
    probe = subprocess.run([p.tool, "info", "--json"], capture_output=True, text=True)
    return [d for d in json.loads(probe.stdout)["devices"] if d["kind"] == kind] if probe.returncode == 0 else []


def gpus_there(p):
    return devices_there(p, "cuda")


def opencl(p, folder):
    """Objects and tasks on devices of OpenCL; also with less memory than the blocks take: they are evicted in turn."""
    if not devices_there(p, "opencl"):
        print("skipped: no device of OpenCL")
        return 77
    ways = [[p.jacobi, "--device", "host", "-c", "6", "--pes", "1"]]
    on_opencl = [p.jacobi, "--impl", "hetero", "--device", "opencl"]
    for way in ("-c 1 --pes 1", "-c 12 --pes 2", "--odf 2 --pes 4", "-c 9 --pes 2 --imbrex-task-policy round_robin"):
        ways.append([*on_opencl, *way.split()])
    same_bits(p, folder, ways)
    short = "-x 72 -c 16 --pes 1 -w 1 -i 5 --repeats 1 --verify --imbrex-task-memory-mb 1".split()
    expect(report_of([*on_opencl, *short], folder).get("verified") is True, "with memory for some blocks only: not verified")
    done = run([*on_opencl, "-x", "72", "-c", "1", "--pes", "1", "--imbrex-task-memory-mb", "1"], code=None)
    expect(done.returncode not in (0, 124) and "task 'pack'" in done.stderr, f"a block that never fits: {done.stderr}")
    return 0


def mpi(p, folder):
    if not p.mpirun:
        print("skipped: no mpirun")
        return 77
    one = [p.jacobi, "--device", "host", "-c", "6", "--pes", "1"]
    on_hosts = lambda n, *words: p.ranks(n, "--device", "host", *words)
    over_ucx = []
    if has_ucx(p):
        over_ucx = [on_hosts(2, "-c", "6", "--pes", "1", "--imbrex-transport=ucx"),
                    on_hosts(2, "--impl", "hetero", "-c", "6", "--pes", "1", "--imbrex-transport=ucx"),
                    on_hosts(3, "-c", "12", "--pes", "2", "--imbrex-transport=ucx")]
    else:
        print("skipped: no UCX")
    same_bits(p, folder, [one, on_hosts(2, "-c", "6", "--pes", "1"), on_hosts(4, "-c", "12", "--pes", "1"),
                          on_hosts(2, "-c", "8", "--pes", "2"), on_hosts(2, "--impl", "mpi"),
                          on_hosts(4, "--impl", "mpi", "--overlap"), [p.jacobi, "--device", "host", "--impl", "mpi"],
                          on_hosts(2, "--impl", "hetero", "-c", "6", "--pes", "1"),
                          on_hosts(3, "--impl", "hetero", "-c", "12", "--pes", "2"), *over_ucx], cases_each=2)
    balanced_the_same(p, folder, [p.ranks(2, "--pes", "1"), p.ranks(3, "--pes", "1"),
                                  *([p.ranks(2, "--pes", "1", "--imbrex-transport=ucx")] if over_ucx else [])])
    # One block for each rank on one GPU for each rank; ranks may share a GPU.
    if gpus_there(p):
        host = [p.jacobi, "--impl", "mpi", "--device", "host"]
        on_gpus = ["--impl", "mpi", "--device", "cuda"]
        same_bits(p, folder, [host, [p.jacobi, *on_gpus], p.ranks(2, *on_gpus), p.ranks(4, *on_gpus, "--overlap"),
                              p.ranks(4, *on_gpus, "--comm", "host"), p.ranks(2, *on_gpus, "--comm", "host", "--overlap")])
    else:
        print("skipped: no GPU for ranks")
    if devices_there(p, "opencl"):
        same_bits(p, folder, [one, p.ranks(2, "--impl", "hetero", "--device", "opencl", "-c", "6", "--pes", "1")], cases_each=2)
    else:
        print("skipped: no device of OpenCL for ranks")
    # Files are assembled from all ranks.
    a, b = os.path.join(folder, "a.npy"), os.path.join(folder, "b.npy")
    run([*one, *SMALL, "--quiet", "--output", a])
    run([*on_hosts(3, "-c", "7", "--pes", "1"), *SMALL, "--quiet", "--output", b])
    expect(open(a, "rb").read() == open(b, "rb").read(), "three ranks wrote another .npy than one")
    # Ranks that disagree: one line on standard error, exit 2.
    for impl in ("chare", "mpi", "hetero"):
        done = run([*p.mpirun, "-n", "1", p.jacobi, "-x", "32", "--pes", "1", "--impl", impl, ":", "-n", "1", p.jacobi,
                    "-x", "33", "--pes", "1", "--impl", impl], code=2)
        lines = [l for l in done.stderr.splitlines() if "error" in l or l.startswith("jacobi3d:")]
        expect(len(lines) == 1, f"--impl {impl}: expected one line about disagreeing ranks: {done.stderr}")
    done = run(p.ranks(2, "-x", "8", "--imbrex-machine=summit"), code=2)
    expect("a launcher started 2 processes" in done.stderr, f"several processes in virtual time: {done.stderr}")
    done = run(p.ranks(2, "-c", "0"), code=2)
    expect(done.stderr.count("-c") <= 2, f"bad options: more than one line: {done.stderr}")
    return 0


STRATEGIES = ["--fusion none", "--fusion A", "--fusion B", "--fusion C", "--fusion D --no-graph", "--fusion D --graph",
              "--fusion none --graph", "--fusion A --graph", "--fusion B --graph", "--fusion C --graph",
              "--fusion none --comm host", "--fusion A --comm host", "--fusion B --comm host", "--fusion C --comm host",
              "--fusion none --streams split", "--fusion B --streams device", "--fusion A --comm host --streams split",
              "--fusion C --comm host --streams device", "--fusion B --completion event",
              "--fusion B --comm host --completion callback", "--fusion C --comm host --completion sync"]


def gpu(p, folder):
    """The same bits from every strategy on GPUs as from the host."""
    gpus = gpus_there(p)
    if not gpus:
        print("skipped: no GPU")
        return 77
    host = [p.jacobi, "--device", "host", "-c", "6", "--pes", "1"]
    ways = [host]
    for n, strategy in enumerate(STRATEGIES):
        for count in sorted({1, len(gpus)}):
            chares = [1, 2, 5, 8, 16][n % 5]
            ways.append([p.jacobi, *strategy.split(), "--gpus", str(count), "--odf", str(chares)])
    hetero = [p.jacobi, "--impl", "hetero", "--device", "cuda"]
    for count in sorted({1, len(gpus)}):
        ways.append([*hetero, "--gpus", str(count), "--odf", "1"])
        ways.append([*hetero, "--gpus", str(count), "--odf", "6"])
        ways.append([*hetero, "--gpus", str(count), "--odf", "4", "--imbrex-task-memory-mb", "1"])
    ways.append([*hetero, "--gpus", "1", "--pes", "3", "-c", "12"])
    ways.append([*hetero, "--gpus", "1", "--pes", "2", "-c", "9", "--imbrex-ranks", "2"])
    ways.append([p.jacobi, "--fusion", "C", "--gpus", "1", "--pes", "3", "-c", "12"])
    ways.append([p.jacobi, "--fusion", "D", "--gpus", "1", "--pes", "3", "-c", "12"])
    ways.append([p.jacobi, "--fusion", "D", "--no-graph", "--gpus", str(len(gpus)), "--pes", str(2 * len(gpus)),
                 "-c", "12", "--map", "round-robin"])
    ways.append([p.jacobi, "--fusion", "B", "--gpus", "1", "--pes", "1", "-c", "6", "--imbrex-ranks", "2"])
    ways.append([p.jacobi, "--fusion", "C", "--comm", "host", "--gpus", "1", "--pes", "2", "-c", "9", "--imbrex-ranks", "2"])
    for steps, count, chares, more in ((2, 1, 1, ""), (4, 1, 6, ""), (5, len(gpus), 4, ""), (4, len(gpus), 2, "--comm host"),
                                       (7, 1, 2, "--imbrex-ranks 2 --pes 1")):
        ways.append([p.jacobi, "--steps", str(steps), "--gpus", str(count), "-c", str(chares * count), *more.split()])
    same_bits(p, folder, ways)
    return 0


def gpu_ranks(p, folder):
    """The same bits from chares on GPUs in several processes, whichever way their halos go. Ranks may share a GPU."""
    if not gpus_there(p) or not p.mpirun:
        print("skipped: no GPU" if p.mpirun else "skipped: no mpirun")
        return 77
    ways = [[p.jacobi, "--device", "host", "-c", "6", "--pes", "1"]]
    on_gpus = ["--device", "cuda", "--gpus", "1", "--pes", "1"]
    for transport in ["mpi", *(["ucx"] if has_ucx(p) else [])]:
        for protocol, fusion, chares in (("auto", "C", 2), ("packed", "B", 6), ("staged", "C", 9), ("shared", "none", 6),
                                         ("shared", "C", 9), ("direct", "B", 6)):
            ways.append(p.ranks(2, *on_gpus, f"--imbrex-protocol={protocol}", f"--imbrex-transport={transport}", "--fusion",
                                fusion, "-c", str(chares)))
        ways.append(p.ranks(3, *on_gpus, "--fusion", "A", "--comm", "host", "-c", "7", f"--imbrex-transport={transport}"))
        ways.append(p.ranks(4, *on_gpus, "--fusion", "C", "-c", "8", f"--imbrex-transport={transport}"))
        ways.append(p.ranks(2, "--device", "cuda", "--gpus", "1", "--pes", "2", "--fusion", "B", "-c", "8",
                            f"--imbrex-transport={transport}", "--imbrex-protocol=shared"))
        ways.append(p.ranks(2, "--impl", "hetero", *on_gpus, "-c", "6", f"--imbrex-transport={transport}"))
        ways.append(p.ranks(3, "--impl", "hetero", *on_gpus, "-c", "12", f"--imbrex-transport={transport}"))
    same_bits(p, folder, ways)
    return 0


def files(p, folder):
    npy, vti, again = (os.path.join(folder, n) for n in ("f.npy", "f.vti", "again.npy"))
    run([p.jacobi, "-x", "9", "-y", "7", "-z", "5", "-w", "0", "-i", "4", "--repeats", "1", "-c", "6", "--quiet", "--output",
         npy, "--output", vti, "--init", "random:1"])
    data = open(npy, "rb").read()
    expect(data[:6] == b"\x93NUMPY" and b"(5, 7, 9)" in data[:128], "the .npy header is wrong")
    expect(len(data) == len(data) // 8 * 8 and len(data) >= 9 * 7 * 5 * 8, "the .npy is too short")
    expect(open(vti, "rb").read().startswith(b"<"), "the .vti is no XML")
    expect(not [n for n in os.listdir(folder) if n.endswith(".part")], "temporary files are left")
    # Four more iterations from the file are eight from the start.
    run([p.jacobi, "--input", npy, "-w", "0", "-i", "4", "--repeats", "1", "-c", "4", "--quiet", "--output", again])
    whole = os.path.join(folder, "whole.npy")
    run([p.jacobi, "-x", "9", "-y", "7", "-z", "5", "-w", "0", "-i", "8", "--repeats", "1", "-c", "2", "--quiet", "--output",
         whole, "--init", "random:1"])
    expect(open(again, "rb").read() == open(whole, "rb").read(), "a run continued from a file differs")
    tasks = os.path.join(folder, "tasks.npy")
    run([p.jacobi, "--impl", "hetero", "--device", "host", "--input", npy, "-w", "0", "-i", "4", "--repeats", "1", "-c", "4",
         "--quiet", "--output", tasks])
    expect(open(tasks, "rb").read() == open(whole, "rb").read(), "--impl hetero continued from a file differs")
    # A signal removes what is unfinished, and leaves an older file as it was.
    for number, more in ((signal.SIGINT, []), (signal.SIGTERM, ["--impl", "hetero"])):
        before, names = open(npy, "rb").read(), set(os.listdir(folder))
        running = subprocess.Popen([p.jacobi, "-x", "64", "-i", "100000000", "--quiet", "--output", npy, "--output",
                                    os.path.join(folder, "pieces.pvti"), *more], stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while len(set(os.listdir(folder)) - names) < 2 and running.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        expect(len(set(os.listdir(folder)) - names) == 2, f"{more}: two unfinished files are expected")
        running.send_signal(number)
        expect(running.wait(timeout=60) == -number, f"{more}: exit {running.returncode} after signal {number}")
        expect(set(os.listdir(folder)) == names, f"{more}: a signal leaves {set(os.listdir(folder)) - names}")
        expect(open(npy, "rb").read() == before, f"{more}: a signal changed an older output")
    # The trace opens as JSON and the summary names the entry methods.
    trace = os.path.join(folder, "trace.json")
    run([p.jacobi, *SMALL, "--device", "host", "-c", "8", "--pes", "2", "--quiet", "--trace", trace])
    with open(trace) as f:
        events = json.load(f)["traceEvents"]
    expect(any(e.get("name") == "update" for e in events), "the trace shows no update")
    summary = run([p.tool, "trace", "summary", trace]).stdout
    expect("iterate" in summary and "idle" in summary, f"the summary lacks something: {summary}")
    return 0


def bad_input(p, folder):
    wrong = os.path.join(folder, "wrong.npy")
    with open(wrong, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
                + b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4, 4), }".ljust(117) + b"\n" + bytes(256))
    good = os.path.join(folder, "good.npy")
    run([p.jacobi, "-x", "8", "-w", "0", "-i", "1", "--repeats", "1", "--quiet", "--output", good])
    before = open(good, "rb").read()
    for words, code, text in [
        ("-c 0", 2, "0"), ("-c -3", 2, "-3"), ("-x 4 -c 1000", 2, "1000"), ("-x 0", 2, "0"), ("-x nonsense", 2, "nonsense"),
        ("-c 4 --odf 2", 2, "odf"), ("--odf 0", 2, "0"), ("--no-such-option", 2, "no-such-option"),
        ("--init lukewarm", 2, "lukewarm"), ("--boundary warm", 2, "warm"), ("--impl magic", 2, "magic"),
        ("--tolerance -1", 2, "-1"), ("--device cuda --gpus 99 --odf 1", None, "GPU"), ("--pes -1", 2, "-1"),
        (f"--input {wrong}", 2, "<f4"), (f"--input {folder}/none.npy", None, "none.npy"),
        (f"--input {good} -x 9", 2, "9"), ("-x 8 --output /nowhere/x.npy", None, "/nowhere"),
        ("-x 8 --report /nowhere/r.json", None, "/nowhere"), ("-x 8 --output out.txt", 2, "out.txt"),
        ("--impl hetero --fusion B", 2, "--fusion B"), ("--impl hetero --streams split", 2, "--streams split"),
        ("--impl hetero --comm host", 2, "--comm host"), ("--impl hetero --graph", 2, "--graph"),
        ("--impl hetero --overlap", 2, "--overlap"), ("--device opencl", 2, "--impl hetero"),
        (f"--impl hetero --device host --input {wrong}", 2, "<f4"), ("--impl hetero --device host -x 30000", None, "memory"),
        ("--impl hetero --device host -x 4 -c 1000", 2, "1000"),
        ("--steps 3 --impl hetero", 2, "--steps 3"), ("--odf auto -c 4", 2, "--odf auto"), ("--odf never", 2, "never"),
        ("--impl mpi -x 8 --imbrex-checkpoint cx", 2, "--imbrex-checkpoint needs the runtime"),
        (f"-x 8 --odf auto --imbrex-tuning {wrong}", 2, f"--imbrex-tuning={wrong}"),
        ("-x 8 --imbrex-checkpoint /proc/checkpoints", 1, "/proc/checkpoints is not a folder"),
        ("--steps auto --impl mpi", 2, "auto"), ("--steps auto --imbalance 2", 2, "--imbalance 2"), ("--steps 3 --imbalance 2", 2, "--imbalance 2"), ("--steps 0", 2, "0"),
        ("-x 30 -c 8 --device host --steps 20", None, "15"),
        ("-x 30000", None, "memory"), ("--imbrex-pes nonsense", 2, "nonsense"), ("-x 8 --trace /nowhere/t.json", None, "/nowhere"),
    ]:
        done = run([p.jacobi, *words.split()], code=code)
        expect(done.returncode in (1, 2), f"{words}: exit {done.returncode}")
        lines = [l for l in done.stderr.splitlines() if l.strip()]
        expect(len(lines) == 1, f"{words}: expected one line, got: {done.stderr}")
        expect(text in done.stderr, f"{words}: the line does not name '{text}': {done.stderr}")
    # A run that fails leaves an older output as it was.
    run([p.jacobi, "-x", "8", "-c", "100000", "--output", good], code=2)
    expect(open(good, "rb").read() == before, "a failed run changed an older output")
    done = run([p.jacobi, "-x", "8", "-i", "1", "--imbrex-pess", "2", "--quiet"])
    expect("--imbrex-pes" in done.stderr, f"no warning of an unknown runtime option: {done.stderr}")
    return 0


def seeds(p, folder):
    hashes = set()
    for seed in range(1, 201):
        words = [p.jacobi, "--device", "host", "-x", "12", "-y", "9", "-z", "7", "-c", "12", "--pes", str(1 + seed % 3), "-w", "1", "-i", "4",
                 "--repeats", "1", "--init", "random:1", "--imbrex-schedule-seed", str(seed)]
        hashes.add(report_of(words, folder).get("field_hash"))
        if seed % 4 == 0:
            hashes.add(report_of([*words, "--impl", "hetero"], folder).get("field_hash"))
    expect(len(hashes) == 1 and None not in hashes, f"200 schedules gave {hashes}")
    return 0


def main():
    group, words = sys.argv[1], sys.argv[2:]
    assert words[0] == "--bin"
    p = programs(words[1], words[3:] if len(words) > 3 else [])
    with tempfile.TemporaryDirectory() as folder:
        code = {"same_bits": same_bits, "balanced": balanced, "tuned": tuned, "files": files, "bad_input": bad_input, "mpi": mpi, "seeds": seeds, "gpu": gpu, "gpu_ranks": gpu_ranks, "opencl": opencl}[group](p, folder)
    for f in FAILURES:
        print("FAILED:", f)
    return 1 if FAILURES else code or 0


if __name__ == "__main__":
    sys.exit(main())
