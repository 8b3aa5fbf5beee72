"""Jobs with libimbrex_sessions.so preloaded, under one MPI: what it counts, injects, elides and stages, and that the
programs' own results and exit codes stay what they are. Usage: sessions_test.py GROUP --mpirun ... (see CMakeLists.txt)"""

import argparse
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

SKIPPED = 77


class Runner:
    def __init__(self, args, folder):
        self.args = args
        self.folder = pathlib.Path(folder)
        self.more_libraries = []

    def run(self, ranks, program, *arguments, modes=None, aware=None, spy=False, preload=True,
            **variables):
        """Runs a job; gives (exit code, sorted lines of stdout, stderr, report or None)."""
        output = self.folder / "report.json"
        output.unlink(missing_ok=True)
        environment = dict(os.environ)
        set_in_ranks = {"LD_LIBRARY_PATH": f"{self.args.driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        libraries = [self.args.library] if preload else []
        if aware is not None:
            libraries.append(str(self.args.bin / "libaware.so"))
            set_in_ranks["AWARE_WAY"] = aware
        if spy:
            libraries.append(str(self.args.bin / "libspy.so"))
        libraries += self.more_libraries
        if libraries:
            set_in_ranks["LD_PRELOAD"] = ":".join(libraries)
        if modes is not None:
            set_in_ranks["IMBREX_SESSIONS"] = modes
            set_in_ranks["IMBREX_SESSIONS_OUTPUT"] = str(output)
            set_in_ranks.setdefault("IMBREX_SESSIONS_TABLE", "none")
        set_in_ranks.update({name: str(value) for name, value in variables.items()})
        assignments = [f"{name}={value}" for name, value in set_in_ranks.items()]
        path = program if "/" in str(program) else str(self.args.bin / program)
        command = [self.args.mpirun, "-n", str(ranks), "env", *assignments, str(path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        report = json.loads(output.read_text()) if output.exists() else None
        # Open MPI's own notes about ranks that exit with other than 0 go to stdout in some versions.
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        own = [line for line in lines if not line.startswith("---") and "Primary job" not in line
               and "non-zero exit code" not in line]
        return done.returncode, sorted(own), done.stderr, report


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def equal(found, expected, what):
    check(found == expected, f"{what}: {found!r} instead of {expected!r}")


def routine(report, name):
    found = [r for r in report["routines"] if r["name"] == name]
    check(len(found) == 1, f"{name} is not in the report")
    return found[0]


def counts(report, name):
    r = routine(report, name)
    return r["calls"], r["checks"], r["bytes_sent"], r["bytes_received"]


# Of routines_job, over both ranks: calls, checks, bytes sent, bytes received.
EXPECTED = {
    "MPI_Send": (1, 1, 32, 0),
    "MPI_Ssend": (1, 1, 8, 0),
    "MPI_Recv": (2, 2, 0, 72),
    "MPI_Isend": (2, 2, 64, 0),
    "MPI_Irecv": (2, 2, 0, 64),
    "MPI_Sendrecv": (2, 4, 32, 32),
    "MPI_Send_init": (2, 2, 64, 0),
    "MPI_Recv_init": (2, 2, 0, 64),
    "MPI_Startall": (6, 0, 0, 0),
    "MPI_Waitall": (8, 0, 0, 0),
    "MPI_Bcast": (2, 2, 32, 32),
    "MPI_Gather": (2, 3, 32, 32),
    "MPI_Gatherv": (2, 3, 24, 24),
    "MPI_Allgather": (2, 2, 0, 64),
    "MPI_Alltoallv": (2, 4, 48, 48),
    "MPI_Allreduce": (2, 4, 64, 64),
    "MPI_Iallreduce": (2, 2, 0, 64),
    "MPI_Reduce": (2, 3, 32, 16),
    "MPI_Barrier": (2, 0, 0, 0),
    "MPI_Neighbor_alltoall": (2, 4, 32, 32),
    "MPI_Win_create": (2, 2, 64, 64),
    "MPI_Put": (2, 2, 32, 0),
    "MPI_Get": (2, 2, 0, 32),
    "MPI_Win_fence": (6, 0, 0, 0),
    "MPI_File_write_at_all": (2, 2, 64, 0),
    "MPI_File_read_at": (2, 2, 0, 64),
}


def test_idle(r):
    """Loaded without a mode it changes and says nothing; loaded into programs without MPI neither."""
    data = str(r.folder / "data")
    plain = r.run(2, "routines_job", data, preload=False)
    equal(plain[0], 3, "exit code without the library")
    equal(r.run(2, "routines_job", data)[:2], plain[:2], "result with the library idle")
    for modes in ("count", "inject", "elide", "elide-verify", "stage", "count,inject,elide"):
        environment = {**os.environ, "LD_PRELOAD": r.args.library, "IMBREX_SESSIONS": modes}
        done = subprocess.run(["sh", "-c", "echo fine; exit 5"], capture_output=True, text=True, env=environment)
        equal((done.returncode, done.stdout, done.stderr), (5, "fine\n", ""), f"a shell with {modes}")
        python = subprocess.run([sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).getpid() > 0)"],
                                capture_output=True, text=True, env=environment)
        equal((python.returncode, python.stdout), (0, "True\n"), f"Python's dlopen with {modes}")


def test_count(r):
    data = str(r.folder / "data")
    plain = r.run(2, "routines_job", data, preload=False)
    for modes in ("count", "count,inject,elide", "count,elide-verify", "count,stage"):
        code, lines, stderr, report = r.run(2, "routines_job", data, modes=modes, IMBREX_SESSIONS_DELAY_NS=100)
        equal((code, lines), plain[:2], f"result with {modes}")
        equal(stderr.count("imbrex sessions"), 0, f"words on stderr with {modes}")
        for name, expected in EXPECTED.items():
            equal(counts(report, name), expected, f"{name} with {modes}")
        known = set(EXPECTED) | {"MPI_Wait", "MPI_Request_free", "outside MPI"}
        equal({x["name"] for x in report["routines"]} - known, set(), "routines beside those called")
        equal(report["total"]["checks"], sum(e[1] for e in EXPECTED.values()), "checks in all")
        equal(sum(x["checks"] for rank in report["per_rank"] for x in rank["routines"]), report["total"]["checks"],
              "checks of the ranks")
        equal((report["ranks"], [rank["rank"] for rank in report["per_rank"]]), (2, [0, 1]), "ranks")
        intensity = report["total"]["checks"] / report["seconds"]
        check(abs(report["total"]["checks_per_s"] / intensity - 1) < 1e-4, "checks per second")
    table = r.run(2, "routines_job", data, modes="count", IMBREX_SESSIONS_TABLE="-")[2]
    check("MPI_Sendrecv" in table and "in all" in table, f"the table on stderr: {table}")
    equal(r.run(2, "routines_job", data, modes="count", IMBREX_SESSIONS_OUTPUT="/nonexistent/x")[0], 3, "no place to write")


def test_kinds(r):
    """Where buffers lie, by communicator, direction and kind of memory, and what queries of each kind take."""
    code, _, stderr, report = r.run(2, "kinds_job", modes="count,inject,kinds", FAKE_CUDA_DELAY_NS=3000)
    equal((code, stderr.count("imbrex sessions")), (0, 0), f"exit code: {stderr}")
    found = {(b["where"], b["direction"], b["memory"]): b for b in report["buffers"]}
    expected = {  # of both ranks: buffers, bytes
        ("halo", "sent", "device"): (20, 640), ("halo", "received", "device"): (2, 32),
        ("mixed", "sent", "host"): (2, 16), ("mixed", "sent", "device"): (2, 16),
        ("mixed", "received", "managed"): (2, 16),
        ("output", "sent", "pinned"): (2, 48), ("output", "both", "host"): (2, 128),
        ("MPI_COMM_WORLD", "sent", "host"): (1, 64), ("MPI_COMM_WORLD", "received", "host"): (1, 64),
        ("MPI_COMM_WORLD", "both", "host"): (2, 128),  # the window's memory
        ("windows", "sent", "host"): (2, 8),
    }
    equal({key: (b["checks"], b["bytes"]) for key, b in found.items()}, expected, "buffers")
    equal({where: b["declared"] for (where, _, _), b in found.items() if b["declared"]}, {"output": "MPI_CPU_TO_CPU"},
          "declared")
    equal(sum(b["checks"] for b in report["buffers"]), report["total"]["checks"], "all checks are some buffer's")
    for key, b in found.items():
        equal(b["injected"], b["checks"], f"injected of {key}")
        check(b["query_ns"] >= 3000 * b["injected"], f"time of the queries of {key}: {b['query_ns']}")
    cost = report["query_in_loop_ns"]
    check(min(cost["host"], cost["device"]) >= 3000, f"queries in a loop: {cost}")
    # Without a driver all is the host's, and there is none to measure.
    _, _, _, report = r.run(2, "routines_job", str(r.folder / "data"), modes="kinds", LD_LIBRARY_PATH="/nowhere")
    equal({b["memory"] for b in report["buffers"]}, {"host"}, "memory without a driver")
    equal(report["query_in_loop_ns"], None, "cost without a driver")
    check({"files", "windows", "MPI_COMM_WORLD"} <= {b["where"] for b in report["buffers"]}, "names")


def test_persistent(r):
    """Persistent collectives, under Open MPI 4 by their names of before MPI 4; partitioned messages where the MPI has them."""
    data = str(r.folder / "data")
    equal(r.run(2, "persistent_job", data, preload=False)[0], 0, "without the library")
    for modes in ("count", "count,inject,elide", "count,elide-verify", "count,inject,kinds"):
        code, lines, stderr, report = r.run(2, "persistent_job", data, modes=modes, IMBREX_SESSIONS_DELAY_NS=100)
        equal((code, lines), (0, []), f"{modes}: {stderr}")
        expected = {"MPI_Allreduce_init": (2, 4, 8, 8), "MPI_Bcast_init": (2, 2, 4, 4), "MPI_Barrier_init": (2, 0, 0, 0),
                    "MPI_Startall": (4, 0, 0, 0)}
        if r.args.mpi != "openmpi":  # Debian's 4.1 has none
            expected.update({"MPI_Psend_init": (1, 1, 192, 0), "MPI_Precv_init": (1, 1, 0, 192), "MPI_Pready": (2, 0, 0, 0),
                             "MPI_Pready_range": (2, 0, 0, 0), "MPI_Pready_list": (2, 0, 0, 0)})
            check(counts(report, "MPI_Parrived")[0] >= 12, "partitions that were asked for")
        for name, of_it in expected.items():
            equal(counts(report, name), of_it, f"{name} with {modes}")
    if r.args.mpi != "openmpi":
        print("partitioned messages: tried")


def test_fortran(r):
    if not (r.args.bin / "fortran_job").exists():
        print("SKIPPED: no Fortran compiler for this MPI (gfortran)")
        sys.exit(SKIPPED)
    plain = r.run(3, "fortran_job", preload=False)
    code, lines, _, report = r.run(3, "fortran_job", modes="count")
    equal((code, lines), plain[:2], "result")
    for name, expected in {"MPI_Send": (3, 3, 96, 0), "MPI_Recv": (3, 3, 0, 96), "MPI_Allreduce": (3, 6, 96, 96)}.items():
        equal(counts(report, name), expected, name)


def test_threads(r):
    for modes in ("count", "count,inject,elide", "count,elide-verify"):
        code, lines, stderr, report = r.run(2, "threads_job", modes=modes, aware="link", IMBREX_SESSIONS_DELAY_NS=10)
        if code == SKIPPED:
            print(lines)
            sys.exit(SKIPPED)
        equal((code, lines), (0, ["all received"]), f"result with {modes}: {stderr}")
        messages = 2 * 2 * 4 * 1000
        equal(counts(report, "MPI_Sendrecv"), (messages, 2 * messages, 4 * messages, 4 * messages), modes)
        queries = 2 * messages * (2 if "inject" in modes else 1)
        equal(routine(report, "MPI_Sendrecv")["queries"], queries, f"queries with {modes}")


def test_inject(r):
    data = str(r.folder / "data")
    # A delay in the driver's place.
    _, _, _, report = r.run(2, "routines_job", data, modes="inject", IMBREX_SESSIONS_DELAY_NS=200000)
    total = report["total"]
    equal((total["injected"], total["queries"], total["driver"]), (total["driver"],) * 3, "injected queries")
    equal(total["injected"], sum(e[1] for e in EXPECTED.values()), "one query per buffer")
    check(total["query_ns"] >= 0.99 * 200000 * total["injected"], f"time of the delays: {total['query_ns']} ns")
    # The driver itself.
    _, _, _, report = r.run(2, "routines_job", data, modes="inject", FAKE_CUDA_DELAY_NS=50000)
    check(report["per_rank"][0]["has_driver"], "the driver is found")
    check(report["total"]["query_ns"] >= 50000 * report["total"]["injected"], "time of the driver")
    # Elided again.
    _, _, _, report = r.run(2, "routines_job", data, modes="inject,elide", IMBREX_SESSIONS_DELAY_NS=200000)
    equal((report["total"]["driver"], report["total"]["host"]), (0, total["injected"]), "elided queries")


def test_elide(r):
    for way in ("link", "dlsym", "proc"):
        _, _, _, counted = r.run(2, "device_job", "many", modes="count", aware=way)
        sendrecv = routine(counted, "MPI_Sendrecv")
        equal((sendrecv["queries"], sendrecv["driver"], sendrecv["injected"]), (4120, 4120, 0), f"counted, {way}")
        for modes in ("count,elide", "count,elide-verify"):
            code, _, stderr, elided = r.run(2, "device_job", "many", modes=modes, aware=way)
            equal(code, 0, f"{modes}, {way}: {stderr}")
            sendrecv = routine(elided, "MPI_Sendrecv")
            # Both buffers of each exchange; sending from pinned and registered memory is answered from the cache.
            equal((sendrecv["driver"], sendrecv["cached"], sendrecv["host"]), (0, 40, 4080), f"{modes}, {way}")
    plain = r.run(2, "device_job", "device", preload=False)
    for modes in ("count", "elide", "elide-verify"):
        found = r.run(2, "device_job", "device", modes=modes, aware="link")
        without = [line for line in found[1] if "queries" not in line]
        equal(without, [line for line in plain[1] if "queries" not in line], f"attributes with {modes}: {found[2]}")
    opened = r.run(2, "device_job", "opened", preload=False)
    check(any(line.startswith("closed once: 0 type 2") for line in opened[1]), f"the driver itself: {opened[1]}")
    for modes in ("count", "elide", "elide-verify", "elide,stage"):
        found = r.run(2, "device_job", "opened", modes=modes)
        equal(found[:2], opened[:2], f"memory that is opened twice, with {modes}: {found[2]}")
    code, _, stderr, _ = r.run(2, "device_job", "secret", modes="elide-verify")
    check(code != 0 and "cuPointerGetAttribute" not in stderr and "attribute 2 of pointer" in stderr,
          f"memory that nobody announced is found out: {code}, {stderr}")
    _, _, _, report = r.run(2, "device_job", "unload", modes="count,elide", aware="link")
    equal(report["per_rank"][0]["incomplete_because"], "cuModuleUnload", "why the watch is incomplete")
    equal(routine(report, "MPI_Sendrecv")["driver"], 40, "queries after that are the driver's")


def test_declare(r):
    for modes in ("count,elide", "count,elide-verify"):
        code, lines, stderr, report = r.run(2, "declare_job", "inherit", modes=modes, aware="link")
        equal(code, 0, f"{modes}: {stderr}")
        equal(lines, ["all as declared"], f"{modes}: {stderr}")
        equal(stderr.count("imbrex sessions"), 0, f"words on stderr: {stderr}")
        sendrecv = routine(report, "MPI_Sendrecv")
        equal((sendrecv["declared"], sendrecv["queries"]), (2 * 160, 2 * 160), "answers by declaration")
        code, lines, stderr, report = r.run(2, "declare_job", "devices", modes=modes, aware="link")
        equal((code, lines), (0, ["devices as declared"]), f"{modes}: {stderr}")
        sendrecv = routine(report, "MPI_Sendrecv")
        # They have no bytes, and may lie anywhere: nothing to verify.
        equal((sendrecv["declared"], sendrecv["queries"]), (40 if modes == "count,elide" else 0, 40), "answers by declaration of devices")
    code, _, stderr, _ = r.run(2, "declare_job", "wrong_buffer", modes="elide-verify", aware="link")
    check(code != 0 and "MPI_Send: buffer" in stderr and "is device memory" in stderr and "declared for host" in stderr,
          f"a buffer that contradicts: {code} {stderr}")
    code, _, stderr, _ = r.run(2, "declare_job", "wrong_host", modes="elide-verify", aware="link")
    check(code != 0 and "is host memory" in stderr and "declared for device" in stderr, f"the other way: {stderr}")
    code, lines, stderr, _ = r.run(2, "declare_job", "mixture", modes="elide", aware="link", IMBREX_SESSIONS_PATTERN="MPI_CPU_TO_CPU")
    equal((code, lines), (0, ["'MPI_CPU_TO_CPU' '' '' then '' and 'MPI_CPU_TO_CPU'"]), f"mixtures: {stderr}")
    code, lines, stderr, _ = r.run(2, "declare_job", "nothing", modes="elide-verify", aware="link")
    equal((code, lines), (0, ["nothing there"]), f"buffers without bytes: {stderr}")
    code, lines, stderr, report = r.run(2, "declare_job", "left", modes="count")
    equal((code, lines), (0, ["1"]), f"an error handler that does not return: {stderr}")
    equal(counts(report, "MPI_Allreduce")[0], 20, "calls after that")
    code, lines, stderr, report = r.run(2, "declare_job", "sessions", modes="count,elide-verify", aware="link")
    if code == SKIPPED:
        print(lines[0])
    else:
        equal((code, lines), (0, ["two sessions as declared"]), f"sessions: {stderr}")
        code, lines, stderr, report = r.run(2, "declare_job", "alone", modes="count,elide", aware="link")
        equal((code, lines), (0, ["alone"]), f"a session without MPI_Init: {stderr}")
        check("declared MPI_GPU_TO_GPU, but its session MPI_CPU_TO_CPU; the session's declaration holds" in stderr, stderr)
        equal(report, None, "a report of all ranks, which nobody could bring together")
        for rank in range(2):
            own = json.loads((r.folder / f"report.json.{rank}").read_text())
            equal((own["ranks"], own["per_rank"][0]["rank"]), (1, rank), "report of a rank")
            equal(counts(own, "MPI_Sendrecv"), (10, 20, 640, 640), "its counts")
    environment = {"IMBREX_SESSIONS_PATTERN": "MPI_CPU_TO_CPU"}
    _, _, _, report = r.run(2, "device_job", "many", modes="elide", aware="link", **environment)
    equal(report["total"]["declared"], 4120, "answers by the default pattern")


def test_joined(r):
    """Processes that are spawned, and those that meet by a port."""
    job = str(r.args.bin / "joined_job")
    ways = {"connect": ["connect"],  # rank 0 and rank 1 are told of one meeting each
            # The variables of their parents, as where those are set for the whole job.
            "spawn": ["spawn", "/usr/bin/env", f"LD_PRELOAD={r.args.library}", "IMBREX_SESSIONS=count,elide", "IMBREX_SESSIONS_TABLE=none",
                      f"IMBREX_SESSIONS_OUTPUT={r.folder / 'report.json'}", job, "child"]}
    expected = {"connect": (40, 2 * 2 * 10), "spawn": (20, 2 * 2 * 10)}
    for name, words in ways.items():
        code, lines, stderr, report = r.run(2, "joined_job", *words, modes="count,inject,elide", IMBREX_SESSIONS_DELAY_NS=1)
        if code == SKIPPED:
            print(lines[0])
            sys.exit(SKIPPED)
        equal((code, lines), (0, ["all inherited"]), f"{name}: {stderr}")
        equal(stderr.count("imbrex sessions"), 0, f"words on stderr with {name}: {stderr}")
        sendrecv = routine(report, "MPI_Sendrecv")
        equal((sendrecv["calls"], sendrecv["declared"]), expected[name], f"answers by declaration with {name}")
        equal(report["ranks"], 2, f"ranks of the report with {name}")
    # One process each time, with a file of its own.
    apart = [json.loads(path.read_text()) for path in sorted(r.folder.glob("report.json.spawned.*"))]
    equal([(a["ranks"], routine(a, "MPI_Sendrecv")["calls"]) for a in apart], [(1, 10), (1, 10)], "reports of spawned processes")


def test_example(r):
    program = str(r.args.examples / f"two_sessions_{r.args.mpi}")
    fields = []
    for modes, arguments in ((None, []), ("count,elide-verify", []), ("elide-verify,stage", ["--gpu"])):
        path = r.folder / "field"
        code, lines, stderr, report = r.run(4, program, str(path), *arguments, modes=modes)
        check(code == 0 and len(lines) == 1 and lines[0].startswith("norm "), f"{modes}: {code} {lines} {stderr}")
        fields.append(path.read_bytes())
    equal(fields[1:], [fields[0]] * 2, "fields")
    code, _, stderr, _ = r.run(1, program, str(r.folder / "field"), "--gpu", LD_LIBRARY_PATH="")
    check(code != 0 and "leave --gpu out" in stderr, f"no driver: {stderr}")


def test_errors(r):
    data = str(r.folder / "data")
    plain = r.run(2, "routines_job", data, preload=False)

    def says(expected, modes="count", **variables):
        code, lines, stderr, _ = r.run(2, "routines_job", data, modes=modes, **variables)
        equal((code, lines), plain[:2], f"result with {modes} {variables}")
        check(expected in stderr, f"{modes} {variables}: {expected!r} is not in {stderr!r}")

    says("unknown mode counts in IMBREX_SESSIONS is ignored; use time, count, kinds, inject, elide, elide-verify, stage", "counts")
    says("unknown variable IMBREX_SESSIONS_OUTPT is ignored", IMBREX_SESSIONS_OUTPT="x")
    says("IMBREX_SESSIONS_DELAY_NS=fast is ignored: give a whole number of at least 0", IMBREX_SESSIONS_DELAY_NS="fast")
    says("IMBREX_SESSIONS_PATTERN=CPU is ignored; use MPI_CPU_TO_CPU", IMBREX_SESSIONS_PATTERN="CPU")
    for modes, lost in (("time", "what the mode time measures"), ("kinds", "what the mode kinds measures"), ("count,kinds", "what the mode kinds")):
        code, lines, stderr, _ = r.run(2, "routines_job", data, IMBREX_SESSIONS=modes, IMBREX_SESSIONS_TABLE="none")
        equal((code, lines), plain[:2], f"result with {modes} alone")
        equal(stderr.count("IMBREX_SESSIONS_OUTPUT"), 1, f"{modes} alone: {stderr}")
        check(lost in stderr, f"{modes} alone: {stderr}")
    stderr = r.run(2, "routines_job", data, IMBREX_SESSIONS_OUTPUT=data)[2]
    equal(stderr.count("has no effect: IMBREX_SESSIONS names no mode"), 1, f"a file without a mode: {stderr}")
    says("IMBREX_SESSIONS_CHUNK_BYTES=1 is ignored: give a whole number of at least 4096", IMBREX_SESSIONS_CHUNK_BYTES=1)
    for modes in ("elide", "elide-verify"):
        code, lines, stderr, _ = r.run(2, "declare_job", "bad", modes=modes)
        equal((code, lines), (0, ["went on"]), f"bad declarations: {stderr}")
        for expected in ("unknown pattern mpi_communication_pattern=MPI_CPU_TO_TPU declares nothing; use MPI_CPU_TO_CPU",
                         'unknown memory kind "cuda:cache" in mpi_memory_alloc_kinds=system,cuda:cache',
                         "an info contradicts itself and declares nothing: mpi_communication_pattern says MPI_GPU_TO_GPU"):
            check(expected in stderr, f"{expected!r} is not in {stderr!r}")


def test_parts(r):
    """Jobs of which one rank is without the library, and processes that are no ranks."""
    def command(**variables):
        with_library = {"LD_PRELOAD": r.args.library, **variables}
        return [r.args.mpirun, "-n", "1", "env", *(f"{k}={v}" for k, v in with_library.items()), str(r.args.bin / "fork_job"),
                ":", "-n", "1", str(r.args.bin / "fork_job")]

    for modes in ("elide", "inject", "time", "elide,stage"):
        done = subprocess.run(command(IMBREX_SESSIONS=modes), capture_output=True, text=True, timeout=60)
        equal((done.returncode, sorted(done.stdout.split("\n"))), (0, ["", "sum 1, child 0", "sum 1, child 0"]), f"{modes}: {done.stderr}")
    with subprocess.Popen(command(IMBREX_SESSIONS="count"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as job:
        watch = threading.Timer(40, os.killpg, (job.pid, signal.SIGKILL))
        watch.start()
        said = [line for line in job.stderr if "imbrex sessions:" in line and not job.terminate()]
        watch.cancel()
    check(len(said) == 1 and "has waited 10 s in MPI_Init for the other ranks" in said[0], f"a rank without the library: {said}")
    code, lines, stderr, report = r.run(2, "fork_job", modes="count")
    equal((code, len(lines), report["ranks"]), (0, 2, 2), stderr)
    equal([p.name for p in r.folder.glob("report.json.*")], [], "reports of processes that are no ranks")


def staged_jobs(r):
    """Device memory given to an MPI that must not touch it: what arrives is what arrives with host memory."""
    check(r.run(2, "stage_job", "all")[0] != 0, "an MPI that reaches into device memory dies, so that this tests something")
    code, lines, stderr, report = r.run(2, "stage_job", "all", modes="stage", IMBREX_SESSIONS_CHUNK_BYTES=65536)
    equal((code, lines), (0, ["all staged"]), f"staged: {stderr}")
    check(report["per_rank"][0]["staged_bytes"] > 1 << 20, "bytes staged")
    for ranks, program, word in ((2, "staged_collectives_job", "all collectives the same"),
                                 (3, "staged_collectives_job", "all collectives the same"),
                                 (2, "staged_messages_job", "all messages the same"),
                                 (2, "staged_accesses_job", "all accesses the same"),
                                 (2, "staged_requests_job", "all requests right"),
                                 (2, "staged_partitions_job", "all partitions right"),
                                 (2, "staged_threads_job", "all threads right")):
        code, lines, stderr, _ = r.run(ranks, program, str(r.folder / "data"), modes="stage",
                                       IMBREX_SESSIONS_CHUNK_BYTES=65536)
        if code == SKIPPED:
            print(lines)
            continue
        equal((code, lines), (0, [word]), f"{program} with {ranks} ranks: {stderr}")
    code, lines, stderr, report = r.run(2, "staged_messages_job", str(r.folder / "data"), modes="stage,elide-verify",
                                        aware="link")
    equal((code, lines), (0, ["all messages the same"]), f"an MPI that asks about what stands in for device memory: {stderr}")
    check(report["total"]["cached"] > 0, "pinned memory of stage is known to the cache")
    for chunk in (4096, 1 << 20):
        for program, word in (("staged_gaps_job", "all gaps kept"), ("staged_types_job", "all types the same"),
                              ("staged_allocations_job", "all allocations reached")):
            code, lines, stderr, _ = r.run(2, program, "all", modes="stage", IMBREX_SESSIONS_CHUNK_BYTES=chunk)
            equal((code, lines), (0, [word]), f"{program}, pieces of {chunk} B: {stderr}")


def staged_refusals(r, kinds, all_can_be_had):
    code, _, stderr, _ = r.run(2, "stage_job", "refused", modes="stage")
    check(code != 0 and "MPI_Win_create: stage does not cover this routine" in stderr and "MPI_Win_allocate" in stderr,
          f"a routine that is not covered: {stderr}")
    code, _, stderr, _ = r.run(2, "stage_job", "partly", modes="stage")
    check(code != 0 and "MPI_Send: a buffer lies partly in device and partly in host memory" in stderr,
          f"a type that reaches out of the device: {stderr}")
    refusals = {"DHD": "partly in device and partly in host memory", "DDH": "partly in device and partly in host",
                "HDH": "partly in device and partly in host memory", "apart": "in several allocations",
                "devices": "in memory of several devices"}
    for where in kinds:
        code, lines, stderr, _ = r.run(2, "staged_allocations_job", where, modes="stage")
        if code == SKIPPED and not all_can_be_had:
            print(f"{where}: {lines}")
            continue
        check(code not in (0, SKIPPED) and "MPI_Sendrecv: a buffer" in stderr and refusals[where] in stderr
              and "send the parts apart" in stderr, f"a type over memory as in {where}: {stderr}")


def test_stage(r):
    """Here memory lies wherever the driver of the tests puts it: every mixture can be had."""
    staged_jobs(r)
    staged_refusals(r, ("DHD", "DDH", "HDH", "apart", "devices"), True)


def use_real_driver(r):
    """Gives the number of GPUs; with more than none, jobs run with NVIDIA's driver from now on."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    paths = [line.split()[-1] for line in open("/proc/self/maps") if "libcuda.so" in line]
    r.args.driver = os.path.dirname(paths[0])
    r.more_libraries = [r.args.real_cuda]
    return count.value


def test_stage_gpu(r):
    """The same with real GPUs. Where their memory lies is the driver's to choose: some mixtures may not be had."""
    num_gpus = use_real_driver(r)
    if num_gpus == 0:
        print("skipped: no GPU")
        sys.exit(SKIPPED)
    staged_jobs(r)
    staged_refusals(r, ("DHD", "DDH", "HDH", "apart", "devices")[:5 if num_gpus > 1 else 4], False)
    code, printed, stderr, _ = r.run(2, r.args.micro, "--memory", "device", "--sizes", "1,4K,1M", "--repeats", "5",
                                     modes="stage")
    check(code == 0 and len(printed) == 1 + 9 * 3, f"sessions_micro with device memory: {code} {stderr}")


def test_covered(r):
    """The whole table, with a spy in the MPI's place: no routine hands device memory on to the MPI."""
    code, lines, stderr, _ = r.run(1, "table_job", modes="stage", spy=True)
    equal((code, lines), (0, ["254 staged", "refused: MPI_Win_attach"]), stderr)
    code, lines, stderr, _ = r.run(1, "table_job", modes="count", spy=True)
    check(code != 0 and "MPI_Send: device memory came through to the MPI" in lines, f"without stage: {lines} {stderr}")


def test_late(r):
    """An MPI that comes with a plugin, as Python loads it, and one that nobody knows."""
    plugin = str(r.args.bin / "librank_plugin.so")
    for ranks, modes in ((2, "count"), (2, "count,elide-verify")):
        code, lines, stderr, report = r.run(ranks, "late_main", plugin, modes=modes)
        equal((code, lines), (3, ["ranks 2"]), f"{modes}: {stderr}")
        equal(counts(report, "MPI_Allreduce"), (2, 4, 8, 8), modes)
    environment = {**os.environ, "LD_PRELOAD": r.args.library, "LD_LIBRARY_PATH": str(r.args.bin.parent)}
    for modes, expected in (("", ""), ("count", "this MPI is not known (Some MPI 9.9), so the library stays idle")):
        environment["IMBREX_SESSIONS"] = modes
        done = subprocess.run([str(r.args.bin.parent / "unknown_main")], capture_output=True, text=True, env=environment)
        equal((done.returncode, done.stdout), (4, "sent 8 values\n"), f"an unknown MPI with {modes}: {done.stderr}")
        check((expected in done.stderr) if expected else done.stderr == "", f"unknown MPI with {modes}: {done.stderr}")


def test_tools(r):
    """A tool that defines two routines of MPI, before the library and after it, preloaded and linked."""
    tool = str(r.args.bin / "libtool.so")
    seen = ["the tool saw 5 messages"] * 2
    for modes in (None, "count", "count,elide", "time"):
        for libraries in ((r.args.library, tool), (tool, r.args.library)):
            code, lines, stderr, report = r.run(2, "tooled_job", modes=modes, LD_PRELOAD=":".join(libraries))
            equal((code, lines), (3, seen), f"{modes}, {libraries}: {stderr}")
            if modes is not None and "count" in modes:
                equal((counts(report, "MPI_Send")[0], counts(report, "MPI_Bcast")[0]), (10, 2), f"{modes}, {libraries}")
        code, lines, stderr, report = r.run(2, "linked_job", modes=modes, preload=False)
        equal((code, lines), (3, seen), f"{modes}, linked: {stderr}")
        if modes is not None and "count" in modes:
            equal((counts(report, "MPI_Send")[0], counts(report, "MPI_Bcast")[0]), (10, 2), f"{modes}, linked")


def test_names(r):
    """MPIs by other names: those with MPICH's handles work as it does, others are named, and what is done with them."""
    libraries = f"{r.args.library}:{r.args.bin / 'librenamed.so'}"
    def run(name, **variables):
        return r.run(1, "tooled_job", modes="count,elide", LD_PRELOAD=libraries, RENAMED_MPI=name, **variables)

    relatives = ("Intel(R) MPI Library 2021.11 for Linux* OS", "MPI VERSION    : CRAY MPICH version 8.1.29.43 (ANL base 3.4a2)",
                 "MVAPICH2 Version      :\t2.3.7", "MVAPICH Version      :\t3.0", "ParaStation MPI 5.9.0-1")
    if r.args.mpi.startswith("mpich"):
        for name in relatives:
            code, _, stderr, report = run(name)
            equal((code, stderr), (3, ""), name)
            equal(counts(report, "MPI_Send")[0], 5, name)
    own = "MPICH Version:\t5.0.0" if r.args.mpi.startswith("mpich") else "Open MPI v5.0.9"
    for name, variables, reason in (("Some MPI 9.9", {}, "this MPI is not known (Some MPI 9.9)"),
                                    ("Open MPI v6.0.0", {}, "this MPI is not known (Open MPI v6.0.0)"),
                                    (own, {"RENAMED_MPI_ABI": 1}, "this MPI has the standard ABI of MPI 5")):
        code, _, stderr, report = run(name, **variables)
        equal((code, report), (3, None), f"{name}: {stderr}")
        for part in (reason, "the library stays idle: MPI calls go on unchanged", "count,elide has no effect",
                     "no report is written", "it was built for"):
            check(part in stderr, f"{name}: {part!r} is not in {stderr}")


def test_runtime(r):
    """The MPI transport of imbrex says of its communicators where buffers live: nobody needs to ask."""
    for program in ("large", "work"):
        job = str(r.args.examples / "job_test")
        code, _, stderr, report = r.run(2, job, program, "--imbrex-pes=2", "--imbrex-transport=mpi",
                                        modes="count,elide-verify", aware="link")
        equal(code, 0, f"job_test {program}: {stderr}")
        sent = routine(report, "MPI_Isend")
        check(sent["queries"] > 50, f"{sent['queries']} queries of MPI_Isend")
        equal((sent["declared"], sent["driver"]), (sent["queries"], 0), f"queries of MPI_Isend by job_test {program}")


def main(tests):
    """Runs the function test_GROUP of those given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group")
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--examples", type=pathlib.Path, required=True)
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--real-cuda", help="what the jobs ask of the tests' driver, by NVIDIA's")
    parser.add_argument("--micro", help="sessions_micro")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests[f"test_{args.group}"](Runner(args, folder))
    print(f"{args.group}: as expected under {args.mpi}")


if __name__ == "__main__":
    main(globals())
