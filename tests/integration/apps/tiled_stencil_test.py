#!/usr/bin/env python3
"""Runs tiled_stencil as users do and checks what they rely on.

  tiled_stencil_test.py GROUP --bin FOLDER [--mpirun COMMAND FLAG ...]

Groups: host, ranks, mpi, bad_input, opencl, gpu. Exit status 0 when all is well, 77 when nothing could run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

FAILURES = []


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def run(words, code=0):
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    expect(done.returncode == code, f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def report_of(words, ranks, pes):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        done = run([*words, "--repeats", "2", "--report", path])
        if done.returncode != 0:
            return
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
    expect(report["verified"] is True and report["error"] < 1e-12, f"{words}: {report}")
    expect(report["us_a_step"] > 0 and len(report["seconds"]["repeats"]) == 2, f"{words}: {report}")
    expect((report["ranks"], report["pes"]) == (ranks, pes), f"{words}: {report['ranks']} ranks of {report['pes']} PEs")
    expect("us a step" in done.stdout and "verified" in done.stdout, f"{words}: prints\n{done.stdout}")


def host(program, _):
    for n, tile in ((64, 16), (30, 30), (12, 1), (35, 7)):
        for pes in (1, 3):
            report_of([program, "--n", str(n), "--tile", str(tile), "--steps", "13", "--pes", str(pes)], 1, pes)
    report_of([program, "--n", "128", "--tile", "16", "--pes", "2", "--ahead", "10"], 1, 2)
    done = run([program, "--n", "64", "--tile", "16", "--no-verify", "--quiet"])
    expect(done.stdout == "", f"--quiet prints {done.stdout}")


def ranks(program, _):
    for number in (2, 4, 6, 7):
        report_of([program, "--n", "96", "--tile", "8", "--steps", "20", "--pes", "1", f"--imbrex-ranks={number}",
                   "--imbrex-transport=loopback"], number, 1)


def mpi(program, mpirun):
    for number in ("2", "3"):
        report_of([*mpirun, number, program, "--n", "192", "--tile", "32", "--pes", "1"], int(number), 1)


def devices_of(program):
    tool = os.path.join(os.path.dirname(program), "imbrex")
    return {d["kind"] for d in json.loads(run([tool, "info", "--json"]).stdout)["devices"]}


def on_devices(program, kind):
    if kind not in devices_of(program):
        print(f"skipped: no device of {kind}")
        return 77
    for devices in (kind, f"host,{kind}"):
        report_of([program, "--n", "96", "--tile", "24", "--steps", "20", "--devices", devices, "--pes", "1"], 1, 1)
    return 0


def opencl(program, _):
    return on_devices(program, "opencl")


def gpu(program, _):
    return on_devices(program, "cuda")


def bad_input(program, _):
    for words, named in ((["--n=-64"], "-64"), (["--n", "100", "--tile", "64"], "no multiple"), (["--tile", "0"], "--tile 0"),
                         (["--devices", "tpu"], "tpu"), (["--devices", "cuda,opencl"], "opencl"), (["--steps", "0"], "--steps 0"), (["--repeats", "0"], "--repeats 0"), (["--ahead", "0"], "--ahead 0"),
                         (["--pes=-1"], "--pes -1"), (["--gpus", "1"], "--gpus needs --devices cuda or opencl"), (["--nonsense"], "--nonsense"),
                         (["--n", "64", "--tile", "64", "--report", "/nowhere/at/all.json"], "/nowhere/at/all.json")):
        done = run([program, *words], code=2)
        expect(named in done.stderr, f"{words}: {named} is not named: {done.stderr}")
    expect("--ahead" in run([program, "--help"]).stdout, "--help does not list the options")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=["host", "ranks", "mpi", "bad_input", "opencl", "gpu"])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--mpirun", nargs=argparse.REMAINDER, default=[])
    arguments = parser.parse_args()
    code = globals()[arguments.group](os.path.join(arguments.bin, "tiled_stencil"), arguments.mpirun)
    for failure in FAILURES:
        print(failure, file=sys.stderr)
    return 1 if FAILURES else code or 0


if __name__ == "__main__":
    sys.exit(main())
