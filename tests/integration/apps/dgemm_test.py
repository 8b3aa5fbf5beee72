#!/usr/bin/env python3
"""Runs dgemm and tiled_dgemm as users do and checks what they rely on.

  dgemm_test.py GROUP --bin FOLDER

Groups: host, opencl, tiles, bad_input, gpu. Exit status 0 when all is well, 77 when nothing could run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

FAILURES = []
VARIANTS = ["naive", "tasks", "pinned", "pool", "transfer", "queues"]


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def run(words, code=0):
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    expect(done.returncode == code, f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


class programs:
    def __init__(self, folder):
        self.dgemm = os.path.join(folder, "dgemm")
        self.tiled = os.path.join(folder, "tiled_dgemm")
        self.tool = os.path.join(folder, "imbrex")

    def count(self, kind):
        return sum(d["kind"] == kind for d in json.loads(run([self.tool, "info", "--json"]).stdout)["devices"])

    def has(self, kind):
        return self.count(kind) > 0


def report_of(words):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        done = run([*words, "--report", path])
        if done.returncode != 0:
            return {}, done
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
    expect(report["verified"] is True and report["wrong"] == [], f"{words}: {report['wrong']}")
    for p in report["points"]:
        expect(p["gflops"] > 0 and len(p["seconds"]["repeats"]) == report["repeats"], f"{words}: {p}")
    return report, done


def variants(p, device, expected, *words):
    """All variants; `expected` must have been measured, the others be listed with a reason."""
    command = [p.dgemm, "--device", device, "--sizes", "16,64,160", "--iterations", "9", "--repeats", "2", *words]
    report, done = report_of(command)
    if not report:
        return report
    expect(report["variants"] == expected, f"{command}: measured {report['variants']}, expected {expected}")
    expect(set(report["variants"]) | set(report["not_measured"]) == {*VARIANTS, "requests"}, f"{command}: {report}")
    expect(all(report["not_measured"].values()), f"{command}: a variant is left out without a reason")
    expect(report["reference"] == expected[0] and report["points"][0]["speedup"] == 1, f"{command}: reference")
    expect("GFLOP/s" in done.stdout and "speed over " + expected[0] in done.stdout, f"{command}: prints\n{done.stdout}")
    return report


def host(p):
    measured = ["naive", "tasks", "pool", "transfer", "queues"]
    report = variants(p, "host", measured)
    expect(len(report.get("points", [])) == 15, "3 sizes by 5 variants are expected")
    report = variants(p, "host", measured, "--pes", "1,2")
    expect(len(report.get("points", [])) == 3 * (5 + 4), "the baseline is measured once, the others with 1 and 2 PEs")
    # More products than there are inputs: they are used again.
    report_of([p.dgemm, "--sizes", "1024", "--variants", "queues", "--iterations", "9", "--repeats", "1"])
    report_of([p.dgemm, "--sizes", "64", "--iterations", "600", "--repeats", "1", "--imbrex-schedule-seed", "3"])
    report_of([p.dgemm, "--sizes", "64", "--iterations", "1", "--repeats", "1", "--pes", "2"])


def opencl(p):
    if not p.has("opencl"):
        print("skipped: no device of OpenCL")
        return 77
    variants(p, "opencl", ["tasks", "transfer", "queues"])
    report_of([p.tiled, "--n", "128", "--tile", "32", "--devices", "opencl", "--repeats", "2"])
    report_of([p.tiled, "--n", "128", "--tile", "32", "--devices", "host,opencl", "--repeats", "2"])
    report_of([p.tiled, "--n", "128", "--tile", "32", "--devices", "opencl", "--resident", "--imbrex-task-memory-mb=1"])
    return 0


def tiles(p):
    for pes in ("1", "2", "3"):
        report, done = report_of([p.tiled, "--n", "96,192", "--tile", "16,48,96", "--pes", pes, "--repeats", "2"])
        expect([x["tile"] for x in report.get("points", [])] == [16, 48, 96] * 2, f"points of {report}")
        expect("GFLOP/s" in done.stdout, f"no table: {done.stdout}")
    # Simulated GPUs, which compute: with room for all of C, for little, and in two processes.
    simulated = [p.tiled, "--n", "128", "--tile", "32", "--devices", "cuda", "--gpus", "2", "--repeats", "2", "--imbrex-machine=h200-x4"]
    for ranks, memory in (("1", "1000"), ("1", "1"), ("2", "1000")):
        report, done = report_of([*simulated, f"--imbrex-ranks={ranks}", f"--imbrex-task-memory-mb={memory}"])
        expect(report.get("ranks") == int(ranks), f"ranks of {report}")
    report_of([*simulated, "--imbrex-ranks=1", "--resident"])
    with tempfile.TemporaryDirectory() as folder:  # PEs of the host and devices, whose clocks differ
        costs = os.path.join(folder, "costs")
        report_of([*simulated, "--devices", "host,cuda", "--pes", "4", "--imbrex-ranks=1", f"--imbrex-task-costs={costs}"])
        expect(os.path.exists(costs), "what tasks took was not written")
    report_of([p.tiled, "--n", "128", "--tile", "32", "--pes", "1", "--repeats", "2", "--imbrex-ranks=3"])
    words = [p.tiled, "--n", "128", "--tile", "32", "--kernel", "library", "--pes", "2"]
    done = subprocess.run([*words, "--quiet"], capture_output=True, text=True, timeout=100)
    if done.returncode == 2 and "OpenBLAS" in done.stderr:
        print("tiles by OpenBLAS were not tried: " + done.stderr.strip())
        return
    report, done = report_of(words)
    expect([x["tile"] for x in report.get("points", [])] == [0, 32], f"the whole product and tiles: {report}")


def bad_input(p):
    for words, named in ((["--sizes=-64"], "-64"), (["--sizes", "63"], "63"), (["--sizes", ""], "--sizes is empty"), (["--pes", "1", "--imbrex-pes=2"], "--imbrex-pes say the same"), (["--sizes", "x"], "--sizes: x is no number that can be used"),
                         (["--variants", "pigeon"], "pigeon"), (["--variants", ""], "--variants"), (["--iterations", "0"], "--iterations 0"),
                         (["--repeats=-1"], "--repeats -1"), (["--device", "tpu"], "tpu"), (["--gpus", "2"], "--gpus"),
                         (["--pes", "0"], "--pes 0"), (["--nonsense"], "--nonsense"), (["--variants", "pinned"], "page-locked"),
                         (["--report", "/nowhere/at/all.json"], "/nowhere/at/all.json")):
        done = run([p.dgemm, *words], code=2)
        expect(named in done.stderr, f"{words}: {named} is not named: {done.stderr}")
    for words, named in ((["--n=-64"], "-64"), (["--n", "100"], "100"), (["--n", "64", "--tile", "48"], "48"),
                         (["--tile", "0"], "--tile 0"), (["--kernel", "mine"], "mine"), (["--devices", "host,tpu"], "tpu"),
                         (["--devices", "opencl,cuda"], "not both"), (["--devices", "opencl", "--kernel", "library"], "opencl"),
                         (["--ahead", "0"], "--ahead 0"), (["--pes=-1"], "--pes"),
                         (["--gpus", "1"], "--gpus needs --devices cuda or opencl"), (["--resident"], "--resident needs --devices"), (["--nonsense"], "--nonsense"),
                         (["--report", "/nowhere/at/all.json"], "/nowhere/at/all.json")):
        done = run([p.tiled, *words], code=2)
        expect(named in done.stderr, f"{words}: {named} is not named: {done.stderr}")
    expect("queues" in run([p.dgemm, "--help"]).stdout, "dgemm --help does not list the variants")
    expect("--ahead" in run([p.tiled, "--help"]).stdout, "tiled_dgemm --help does not list the options")


def gpu(p):
    if not p.has("cuda"):
        print("skipped: no GPU")
        return 77
    variants(p, "cuda", VARIANTS)
    variants(p, "cuda", VARIANTS, "--pes", "1,2")
    for more in (["--devices", "cuda"], ["--devices", "host,cuda"], ["--devices", "cuda", "--imbrex-task-memory-mb=1"]):
        report_of([p.tiled, "--n", "256", "--tile", "64", "--repeats", "2", *more])
    report_of([p.tiled, "--n", "512", "--tile", "128", "--devices", "cuda", "--kernel", "library", "--repeats", "2"])
    for pes in ("1", "2") if p.count("cuda") > 1 else ():
        for memory in ("1000", "1"):  # in MiB; with the little, one chain of tasks after the other
            report_of([p.tiled, "--n", "512", "--tile", "64", "--devices", "cuda", "--gpus", "2", "--pes", pes, "--repeats", "2",
                       f"--imbrex-task-memory-mb={memory}"])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=["host", "opencl", "tiles", "bad_input", "gpu"])
    parser.add_argument("--bin", required=True)
    arguments = parser.parse_args()
    code = globals()[arguments.group](programs(arguments.bin))
    for failure in FAILURES:
        print(failure, file=sys.stderr)
    return 1 if FAILURES else code or 0


if __name__ == "__main__":
    sys.exit(main())
