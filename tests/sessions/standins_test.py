"""The stand-ins and the micro-benchmarks under libimbrex_sessions.so: what they print stays what it is, what they call is
what their patterns say, and they notice wrong data. Usage: standins_test.py GROUP --mpirun ... (see CMakeLists.txt)"""

import json
import math
import os
import subprocess
import sys

from sessions_test import check, counts, equal, main

IN_3D = {2: (2, 1, 1), 4: (2, 2, 1), 8: (2, 2, 2)}
IN_2D = {2: (2, 1), 4: (2, 2)}


def neighbours(dims):
    """Messages to all neighbours, by faces, edges and corners."""
    return math.prod(3 * n - 2 for n in dims) - math.prod(dims)


def faces(dims):
    return sum(2 * (n - 1) * math.prod(dims) // n for n in dims)


def number(line, name):
    """The number after a word of a program's line."""
    words = line.split()
    return int(words[words.index(name) + 1])


def neighbours27(ranks, line):
    steps, size, fields = 2, 5, 2
    sent = math.prod(size * n + 2 * (n - 1) for n in IN_3D[ranks]) - math.prod(size * n for n in IN_3D[ranks])
    messages, size_of_all = steps * neighbours(IN_3D[ranks]), steps * sent * fields * 8
    reductions = ranks * (steps + 1)
    return {"MPI_Isend": (messages, messages, size_of_all, 0), "MPI_Irecv": (messages, messages, 0, size_of_all),
            "MPI_Waitall": (ranks * steps, 0, 0, 0), "MPI_Allreduce": (reductions, 2 * reductions)}


def conjugate_gradient(ranks, line):
    iterations = number(line, "iterations")
    messages = iterations * neighbours(IN_3D[ranks])
    reductions = ranks * (2 * iterations + 2 + 1)  # two solves
    return {"MPI_Send": (messages, messages), "MPI_Irecv": (messages, messages), "MPI_Wait": (messages, 0, 0, 0),
            "MPI_Allreduce": (reductions, 2 * reductions)}


def halo2d(ranks, line):
    steps, summaries = 4, 2
    messages = steps * faces(IN_2D[ranks])
    return {"MPI_Isend": (messages, messages), "MPI_Irecv": (messages, messages),
            "MPI_Allreduce": (ranks * (steps + 1), 2 * ranks * (steps + 1)),
            "MPI_Reduce": (ranks * (summaries + 1), (ranks + 1) * (summaries + 1))}


def particles(ranks, line):
    steps, rounds = 2, number(line, "rounds")
    messages = rounds * faces(IN_3D[ranks])
    return {"MPI_Isend": (messages, messages), "MPI_Irecv": (messages, messages),
            "MPI_Allreduce": (ranks * (rounds + 1), 2 * ranks * (rounds + 1)),
            "MPI_Reduce": (ranks * (steps + 2), (ranks + 1) * (steps + 2))}


STANDINS = {
    neighbours27: ["--size", "5", "--steps", "2", "--fields", "2", "--work", "1"],
    conjugate_gradient: ["--nx", "5", "--ny", "4", "--nz", "2", "--solves", "2"],
    halo2d: ["--nx", "11", "--ny", "9", "--steps", "4", "--summary", "2"],
    particles: ["--size", "4", "--particles", "50", "--steps", "2", "--hops", "6", "--buffer", "5"],
}


def program(r, name):
    return str(r.args.examples / f"sessions_{name}_{r.args.mpi}")


def result_of(lines):
    """The one line that a stand-in prints, without its time."""
    equal(len(lines), 1, f"lines: {lines}")
    words = lines[0].split()
    equal(words[0], "seconds", lines[0])
    check(float(words[1]) > 0, lines[0])
    return " ".join(words[2:])


def run_standin(r, ranks, standin, **how):
    code, lines, stderr, report = r.run(ranks, program(r, standin.__name__), *STANDINS[standin], **how)
    equal(code, 0, f"{standin.__name__}, {ranks} ranks, {how}: {lines} {stderr}")
    equal(stderr.count("imbrex sessions"), 0, f"words on stderr of {standin.__name__} with {how}: {stderr}")
    return result_of(lines), report


def check_standin(r, ranks, standin):
    name = f"{standin.__name__} with {ranks} ranks"
    plain, _ = run_standin(r, ranks, standin, preload=False)
    check(plain.endswith(" verified"), f"{name}: {plain}")
    injected, report = run_standin(r, ranks, standin, modes="count,inject", IMBREX_SESSIONS_DELAY_NS=300)
    equal(injected, plain, f"{name}, counted and injected")
    for routine_name, expected in standin(ranks, plain).items():
        equal(counts(report, routine_name)[:len(expected)], expected, f"{routine_name} of {name}")
    total = report["total"]
    checks = total["checks"]
    equal((total["injected"], total["driver"]), (checks, checks), f"queries of {name}")
    check(total["query_ns"] >= 0.99 * 300 * checks, f"time of the delays of {name}: {total['query_ns']}")
    elided, report = run_standin(r, ranks, standin, modes="inject,elide")
    equal(elided, plain, f"{name}, elided")
    total = report["total"]
    check(all(rank["has_driver"] for rank in report["per_rank"]), f"{name}: the driver is found")
    equal((total["injected"], total["host"], total["driver"]), (checks, checks, 0), f"queries of {name}, elided")


def test_standins(r):
    for standin in STANDINS:
        for ranks in (2, 4):
            check_standin(r, ranks, standin)
    check_standin(r, 8, neighbours27)


def run_to_end(r, ranks, name, *arguments, **variables):
    """A job that may fail: (exit codes of the ranks, lines, stderr). Mpirun sees none of the codes: some wait then."""
    code, lines, stderr, _ = r.run(ranks, "/bin/sh", "-c", '"$@"; echo ended with $?', "sh", program(r, name), *arguments,
                                   preload=False, **variables)
    equal(code, 0, f"{name} {arguments}: {stderr}")
    ends = [line for line in lines if line.startswith("ended with ")]
    return {int(line.split()[2]) for line in ends}, [line for line in lines if line not in ends], stderr


def test_standins_alone(r):
    """One rank, uneven parts, wrong data, and wrong command lines."""
    for standin, ranks in ((neighbours27, 1), (conjugate_gradient, 3), (halo2d, 3), (particles, 1)):
        check(run_standin(r, ranks, standin, preload=False)[0].endswith(" verified"), f"{standin.__name__}, {ranks} ranks")
    for standin in STANDINS:
        completion = "MPI_Wait" if standin is conjugate_gradient else "MPI_Waitall"
        codes, lines, stderr = run_to_end(r, 2, standin.__name__, *STANDINS[standin], CORRUPT_ROUTINE=completion,
                                          CORRUPT_FIRST=2, LD_PRELOAD=r.args.bin / "libcorrupting.so")
        check(codes == {1} and "wrong at" in lines[0], f"{standin.__name__} with wrong data: {codes} {lines} {stderr}")
    codes, lines, stderr = run_to_end(r, 2, "halo2d", "--help")
    check(codes == {0} and any("--summary" in line for line in lines), f"help: {codes} {lines} {stderr}")
    for ranks, words, expected in (
            (1, ["halo2d", "--step", "5"], "halo2d: unknown option --step: see --help"),
            (1, ["halo2d", "--steps"], "halo2d: no value for --steps: see --help"),
            (2, ["particles", "--hops", "0"], "particles: --hops 0: give a whole number from 1 to 1000000"),
            (1, ["neighbours27", "--size", "ten"], "neighbours27: --size ten: give a whole number from 2 to 1000"),
            (2, ["halo2d", "--nx", "3", "--ny", "2"], "halo2d: too few cells for a halo of these ranks, 3x2: give more"),
            (2, ["conjugate_gradient", "--nx", "1"], "too few points for these ranks, 1x20x20: give more")):
        codes, lines, stderr = run_to_end(r, ranks, *words)
        equal((codes, lines, stderr.count(expected)), ({2}, [], 1), f"{words}: {stderr}")


ROUTINES = ("Alltoall", "Allreduce", "Allgather", "Bcast", "Gather", "Reduce", "Scatter", "PingPing", "PingPong")


def run_micro(r, *arguments, **how):
    code, lines, stderr, report = r.run(2, program(r, "micro"), *arguments, **how)
    return code, [json.loads(line) for line in lines if line.startswith("{")], stderr, report


def test_micro(r):
    sizes, repeats = (0, 1, 2048), 10
    arguments = ["--sizes", "0,1,2K", "--repeats", str(repeats)]
    expected = {(name, size) for name in ROUTINES for size in sizes}
    calls = 2 * len(sizes) * (repeats + repeats // 10 + 1 + 1)  # of both ranks; warm-up, and one that is compared
    for how in ({"preload": False}, {"modes": "count,inject"},
                {"modes": "count,inject,elide", "aware": "link"},
                {"modes": "count,inject,elide", "aware": "link", "IMBREX_SESSIONS_PATTERN": "MPI_CPU_TO_CPU"}):
        code, printed, stderr, report = run_micro(r, *arguments, **how)
        equal((code, {(m["routine"], m["bytes"]) for m in printed if "routine" in m}), (0, expected), f"{how}: {stderr}")
        for m in printed:
            check("routine" not in m or (m["wrong_values"] == 0 and m["repeats"] == repeats and
                                         0 < m["min_us"] <= m["mean_us"] <= m["max_us"]), f"{how}: {m}")
        if report is None:
            continue
        gathered = 2 * len(expected)  # the results of each measurement
        for name, number_of, checks_of_both in (("Alltoall", calls, 4), ("Allreduce", calls, 4), ("Scatter", calls, 3),
                                                ("Reduce", calls, 3), ("Gather", calls + gathered, 3), ("Isend", calls, 2)):
            equal(counts(report, f"MPI_{name}")[:2], (number_of, number_of * checks_of_both // 2), f"{name}, {how}")
        equal(counts(report, "MPI_Recv")[:2], (2 * calls,) * 2, f"receives, {how}")
        total = report["total"]
        if "elide" in how["modes"]:
            declared = "IMBREX_SESSIONS_PATTERN" in how
            queries = total["queries"]
            equal((total["driver"], total["declared" if declared else "host"]), (0, queries), f"queries, {how}")
        else:
            equal((total["injected"], total["driver"]), (total["checks"],) * 2, f"queries, {how}")
    for name, corrupted in (("PingPong", "MPI_Recv"), ("Alltoall", "MPI_Alltoall"), ("Allreduce", "MPI_Allreduce")):
        codes, lines, stderr = run_to_end(r, 2, "micro", "--routines", name, "--sizes", "64", "--repeats", "1",
                                          LD_PRELOAD=r.args.bin / "libcorrupting.so", CORRUPT_ROUTINE=corrupted,
                                          CORRUPT_FIRST=3)
        check(codes == {1} and "received values were wrong" in stderr and '"wrong_values": 0}' not in "".join(lines),
              f"{name} with wrong data: {codes} {lines} {stderr}")
    for memory, modes in (("device", "stage"), ("by-hand", "count")):  # with the driver of the tests
        code, printed, stderr, report = run_micro(r, "--sizes", "0,1,4K", "--repeats", "3", "--memory", memory, modes=modes)
        equal((code, len(printed), sum(m.get("wrong_values", 0) for m in printed)), (0, 1 + 3 * len(ROUTINES), 0),
              f"{memory}: {stderr}")
        staged = sum(rank["staged_bytes"] for rank in report["per_rank"])
        check((staged > 0) == (modes == "stage"), f"{memory}: {staged} bytes staged")
    for ranks, words, expected_words in ((2, ["--memory", "devise"], "--memory devise: use host, device or by-hand"),
                                         (2, ["--sizes", "8,many"], "size many: give bytes up to 1024M"),
                                         (1, ["--routines", "bcast,scan"], "unknown routine scan: use Alltoall"),
                                         (1, ["--repeats", "0"], "--repeats 0: give a whole number of at least 1"),
                                         (1, [], "ranks 1: start it with at least 2")):
        codes, lines, stderr = run_to_end(r, ranks, "micro", *words)
        equal((codes, lines, stderr.count(expected_words)), ({2}, [], 1), f"{words}: {stderr}")
    empty = r.folder / "no_driver"
    empty.mkdir()
    (empty / "libcuda.so.1").write_text("")
    codes, lines, stderr = run_to_end(r, 2, "micro", "--memory", "device", LD_LIBRARY_PATH=empty)
    check(codes == {2} and lines == [] and "--memory at rank 0: there is no libcuda.so.1" in stderr, f"no driver: {stderr}")


def test_micro_ratios(r):
    script = str(r.args.sources / "sessions" / "bench" / "micro.py")
    output = r.folder / "ratios.json"
    common = [sys.executable, "-B", script, "--library", r.args.library, "--job", program(r, "micro"), "--mpirun",
              r.args.mpirun]
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{r.args.driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"}

    def run(*words):
        return subprocess.run([*common, *words], capture_output=True, text=True, env=environment, timeout=100)

    cases = ["inject", "inject,elide:declared"]
    done = run("--routines", "PingPong,Bcast", "--sizes", "0,8", "--repetitions", "20", "--repeats", "2",
               "--delay-ns", "200000", "--json", str(output), "--cases", *cases)
    equal(done.returncode, 0, done.stderr)
    result = json.loads(output.read_text())
    equal(len(result["points"]), 4, "points")
    for p in result["points"]:
        equal(set(p["cases"]), {"plain", *cases}, "cases")
        plain = p["cases"]["plain"]["mean_us"]["runs"]
        for case, found in p["cases"].items():
            pairs = [t / of_plain for t, of_plain in zip(found["mean_us"]["runs"], plain)]
            equal(len(pairs), 2, f"runs of {case}")
            ratio = found["ratio"]
            check(math.isclose(ratio["median"], sum(pairs) / 2) and ratio["min"] == min(pairs) and ratio["max"] == max(pairs),
                  f"{case}: {ratio} of {pairs}")
    ping_pong = next(p for p in result["points"] if (p["routine"], p["bytes"]) == ("PingPong", 8))
    # One way of a ping-pong has a send and a receive, each with a query of 0.2 ms.
    check(ping_pong["cases"]["inject"]["mean_us"]["min"] > 200, f"time of the delays: {ping_pong}")
    queries = result["queries"]["2"]
    equal(queries["inject,elide:declared"]["by_driver_or_delay"], 0, "declared")
    check(queries["inject,elide:declared"]["declared"] > 0, "declared")
    check("/" not in result["command"] and result["mpi"] and result["cpu"] and result["date"], f"facts: {result['command']}")
    check("PingPong" in done.stdout and "ratios to plain" in done.stdout, done.stdout)
    for words, expected in ((["--cases", "injct"], "case injct: give plain, idle or modes"),
                            (["--ranks", "1"], "--ranks 1: give whole numbers of at least 2")):
        done = run(*words)
        check(done.returncode == 2 and expected in done.stderr, f"{words}: {done.returncode} {done.stderr}")


if __name__ == "__main__":
    main(globals())
