"""`imbrex mpi-check` under one MPI: its figures against those of the runs that it keeps, with a driver, with a delay, and
what it says of programs that cannot be checked. Usage: mpi_check_test.py --tool ... (see CMakeLists.txt)"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import xml.etree.ElementTree


CHECKS = 2 * 1030 * 2  # ranks, exchanges, buffers of `device_job many`


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def equal(found, expected, what):
    check(found == expected, f"{what}: {found!r} instead of {expected!r}")


class Checker:
    def __init__(self, args, folder):
        self.args = args
        self.folder = pathlib.Path(folder)

    def run(self, *words, driver=False, aware=False, **variables):
        environment = {**os.environ, **variables}
        if driver:
            environment["LD_LIBRARY_PATH"] = f"{self.args.driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        if aware:
            environment["LD_PRELOAD"] = str(self.args.bin / "libaware.so")
        return subprocess.run([self.args.tool, "mpi-check", *words], capture_output=True, text=True, env=environment,
                              timeout=100, cwd=self.folder)

    def job(self, name, *arguments):
        return ["--", self.args.mpirun, "-n", "2", str(self.args.bin / name), *arguments]

    def results(self, *words, **how):
        done = self.run("--output", "results", *words, **how)
        equal(done.returncode, 0, f"{words}: {done.stderr}")
        folder = self.folder / "results"
        check((folder / "mpi-check.txt").read_text() in done.stdout, "the table is printed")
        return json.loads((folder / "mpi-check.json").read_text()), done


def same_from_runs(results, folder, rounds):
    """Medians and ratios follow from the single runs, whose reports were kept."""
    plain = results["variants"][0]
    equal(plain["name"], "plain", "the first variant")
    for v in results["variants"]:
        equal(len(v["all_seconds"]), rounds, f"runs of {v['name']}")
        equal(v["seconds"]["median"], statistics.median(v["all_seconds"]), f"median of {v['name']}")
        ratios = [s / p for s, p in zip(v["all_seconds"], plain["all_seconds"])]
        check(abs(v["against_plain"]["median"] - statistics.median(ratios)) < 1e-12, f"{v['name']} against plain")
        check(min(ratios) <= v["against_plain"]["low_95"] <= v["against_plain"]["high_95"] <= max(ratios),
              f"interval of {v['name']}")
        for i in range(rounds):
            report = json.loads((folder / "runs" / f"{i + 1}-{v['name'].replace(' ', '-')}.json").read_text())
            equal((report["modes"], report["seconds"]), (v["modes"], v["all_seconds"][i]), f"run {i} of {v['name']}")


def test_delay(c):
    results, done = c.results("--repeats", "3", "--delay-ns", "2000", *c.job("device_job", "many"))
    same_from_runs(results, c.folder / "results", 3)
    equal([v["modes"] for v in results["variants"]], ["time", "count", "inject", "inject,elide"], "variants")
    sendrecv = [r for r in results["routines"] if r["name"] == "MPI_Sendrecv"][0]
    equal((sendrecv["calls"], sendrecv["checks"], sendrecv["own_queries"]), (CHECKS / 2, CHECKS, 0), "MPI_Sendrecv")
    check(sendrecv["injected_s"] >= 0.9 * CHECKS * 2e-6, f"time of the checks: {sendrecv['injected_s']}")
    equal((sendrecv["elided_s"], sendrecv["host"] + sendrecv["cached"]), (0, CHECKS), "elided checks")
    check("checking every buffer once" in done.stdout, done.stdout)
    check("several MPI programs" not in done.stderr, done.stderr)
    texts = [t.text for t in xml.etree.ElementTree.parse(c.folder / "results" / "mpi-check.svg").iter() if t.text]
    for text in ("plain", "counted", "injected", "elided", "MPI_Sendrecv"):
        check(text in texts, f"{text} in the picture")


def test_declared(c):
    results, _ = c.results("--repeats", "1", "--delay-ns", "0", "--pattern", "MPI_CPU_TO_CPU",
                           *c.job("device_job", "many"))
    equal((results["total"]["host"], results["total"]["declared"]), (0, CHECKS), "checks answered by the declaration")


def test_driver(c):
    """An MPI that asks the driver itself: that is measured and elided too."""
    results, done = c.results("--repeats", "2", *c.job("device_job", "many"), driver=True, aware=True)
    equal((results["has_driver"], results["delay_ns"]), (True, None), "who answers")
    equal([v["modes"] for v in results["variants"]], ["time", "count", "inject", "inject,elide", "elide"], "variants")
    total = results["total"]
    equal((total["checks"], total["own_queries"]), (CHECKS, CHECKS), "checks and queries")
    check(total["injected_s"] > 0 and total["own_query_s"] > 0, "time in the driver")
    equal((total["elided_s"], total["declared"], total["cached"] + total["host"]), (0, 0, 2 * CHECKS), "all elided")
    check(f"the MPI itself makes {CHECKS} queries" in done.stdout, done.stdout)
    # Without being told, a delay stands for a driver that is not there.
    launch = " ".join(c.job("routines_job", "data")[1:])
    results, done = c.results("--repeats", "1", "--", "sh", "-c", f"{launch}; test $? -eq 3")
    equal((results["has_driver"], results["delay_ns"]), (False, 400), "without a driver")
    check("no driver to ask" in done.stderr, done.stderr)
    check("too few rounds to tell" in done.stdout, done.stdout)


def test_errors(c):
    def fails(code, text, *words):
        done = c.run(*words)
        equal(done.returncode, code, f"{words}: {done.stderr}")
        check(text in done.stderr, f"{text} in: {done.stderr}")

    fails(2, "command is required")
    fails(2, "cannot start ./absent: No such file or directory", "--", "./absent")
    fails(2, "--repeats", "--repeats", "0", "--", "true")
    fails(2, "MPI_CPU_TO_MOON", "--pattern", "MPI_CPU_TO_MOON", "--", "true")
    fails(2, "there is no such file", "--library", "absent.so", "--", "true")
    (c.folder / "file").write_text("")
    fails(2, "--output file/x", "--output", "file/x", "--", "true")
    fails(2, "the program fails by itself, with exit code 3", *c.job("routines_job", str(c.folder / "data")))
    fails(1, "left no report", "--", "true")
    script = c.folder / "fails_with_library"
    script.write_text("#!/bin/sh\necho unhappy >&2\ntest -z \"$IMBREX_SESSIONS\"\n")
    script.chmod(0o755)
    fails(1, "ends with exit code 1 in the run 'warm-up-counted', and with 0 without the library", "--", str(script))
    fails(1, "unhappy", "--", str(script))


def test_several(c):
    """A script with two programs: the reports of the first are lost, which is said once."""
    launch = f"{c.args.mpirun} -n 1 {c.args.bin / 'fork_job'}"
    done = c.run("--repeats", "1", "--delay-ns", "0", "--", "sh", "-c", f"{launch} && {launch}")
    equal(done.returncode, 0, done.stderr)
    equal(done.stderr.count("several MPI programs"), 1, done.stderr)


def test_failed(c):
    """What another program left in the folder is not taken for this one's."""
    (c.folder / "old").mkdir()
    for name in ("mpi-check.txt", "mpi-check.html"):
        (c.folder / "old" / name).write_text("of another program")
    equal(c.run("--output", "old", "--", "false").returncode, 2, "false fails by itself")
    equal([p.name for p in (c.folder / "old").glob("mpi-check.*")], [], "results of another program")


def test_cut_short(c):
    """Rounds that were complete are kept when a later run fails."""
    counter = c.folder / "runs_so_far"
    counter.write_text("")
    launch = " ".join(c.job("device_job", "many")[1:])
    # 3 runs before the rounds, 4 in each: the second of the fourth round fails.
    command = f"echo >> {counter}; test $(wc -l < {counter}) -lt 17 && {launch}"
    done = c.run("--output", "results", "--repeats", "5", "--delay-ns", "0", "--", "sh", "-c", command)
    equal(done.returncode, 1, done.stderr)
    results = json.loads((c.folder / "results" / "mpi-check.json").read_text())
    equal(results["repeats"], 3, "complete rounds")
    same_from_runs(results, c.folder / "results", 3)


def main(tests, description, *options):
    """Each test in a folder of its own; what `options` of the command line, beside its own, are called."""
    parser = argparse.ArgumentParser(description=description)
    for option in ("--tool", "--mpirun", "--driver", *options):
        parser.add_argument(option)
    parser.add_argument("--bin", type=pathlib.Path)
    args = parser.parse_args()
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(Checker(args, folder))


if __name__ == "__main__":
    main((test_delay, test_declared, test_driver, test_errors, test_several, test_failed, test_cut_short), __doc__)
