#!/usr/bin/env python3
"""Runs pingpong as users do and checks what they rely on.

  pingpong_test.py GROUP --bin FOLDER [--mpirun COMMAND...]

Groups: one_process, loopback, mpi, ucx, bad_input, gpu. Exit status 0 when all is well, 77 when nothing could run.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

FAILURES = []
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts/plot-pingpong")
FEW = "--sizes 8,13,96K,1M --repeats 2 --time-ms 1 --window 4 --rate".split()


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def run(words, code=0, env=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env={**os.environ, **(env or {})})
    expect(done.returncode == code, f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


class programs:
    def __init__(self, folder, mpirun):
        self.pingpong = os.path.join(folder, "pingpong")
        self.tool = os.path.join(folder, "imbrex")
        self.mpirun = mpirun

    def ranks(self, *words):
        return [*self.mpirun, "-n", "2", self.pingpong, *words]


def check(words, modes):
    """One run with all checks of content; `modes` must have been measured, the others be listed with a reason."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        done = run([*words, *FEW, "--report", path])
        if done.returncode != 0:
            return {}
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
    what = " ".join(words)
    expect(report["verified"] is True and report["wrong"] == [], f"{what}: wrong content: {report['wrong']}")
    expect(set(modes) <= set(report["modes"]), f"{what}: {modes} wanted, measured {report['modes']}")
    expect(all(report["not_measured"].values()), f"{what}: a mode is left out without a reason")
    expect(len(report["modes"]) + len(report["not_measured"]) == 16, f"{what}: a mode is missing: {report}")
    expect(len(report["points"]) == 4 * len(report["modes"]), f"{what}: {len(report['points'])} points")
    for p in report["points"]:
        for series in ("one_way_us", "window_message_us"):
            expect(1 <= len(p[series]["repeats"]) <= 2 and p[series]["min"] > 0, f"{what}: {p}")
    expect(report["messages_per_second"]["median"] > 0, f"{what}: no rate")
    expect("not measured: " in done.stdout and "one way in us" in done.stdout, f"{what}: prints\n{done.stdout}")
    print(f"{what}: {', '.join(report['modes'])}")
    return report


HOST = ["entry", "channel-host", "put-host", "get-host"]


def one_process(p):
    report = check([p.pingpong], HOST)
    expect(report.get("one_process") is True, "two PEs of one process are expected")
    check([p.pingpong, "--imbrex-pes", "1"], HOST)
    check([p.pingpong, "--imbrex-schedule-seed", "3"], HOST)


def loopback(p):
    check([p.pingpong, "--imbrex-ranks", "2"], HOST)
    for protocol in ("packed", "staged", "direct"):
        check([p.pingpong, "--imbrex-ranks", "2", f"--imbrex-protocol={protocol}"], HOST)


def has_ucx(p):
    return json.loads(run([p.tool, "info", "--json"]).stdout)["transports"]["ucx"]["present"]


def mpi(p):
    raw = ["mpi-host"] + (["ucx-host"] if has_ucx(p) else [])
    check(p.ranks(), HOST + raw)
    report = check(p.ranks("--imbrex-pes", "2"), HOST)
    expect("--imbrex-pes 1" in report["not_measured"]["mpi-host"], "two PEs in a process: the reason is not given")


def ucx(p):
    check(p.ranks("--imbrex-transport=ucx"), HOST + ["mpi-host", "ucx-host"])


def bad_input(p):
    for words, named in ((["--modes", "pigeon"], "pigeon"), (["--sizes", "8,x"], "'x'"), (["--repeats", "0"], "--repeats 0"),
                         (["--report", "/nowhere/at/all.json"], "/nowhere/at/all.json"), (["--nonsense"], "--nonsense"),
                         (["--modes", "mpi-host"], "none of the modes")):
        done = run([p.pingpong, *words], code=2)
        expect(named in done.stderr, f"{words}: {named} is not named: {done.stderr}")
    expect("channel-device-chained" in run([p.pingpong, "--help"]).stdout, "--help does not list the modes")


def plot(p):
    """An installed copy, and a Python that can draw or cannot."""
    with tempfile.TemporaryDirectory() as folder:
        path = lambda *names: os.path.join(folder, *names)
        for name in ("bin", "share/imbrex", "python"):
            os.makedirs(path(name))
        shutil.copy(p.pingpong, path("bin", "pingpong"))
        few = [path("bin", "pingpong"), "--sizes", "8", "--modes", "entry", "--repeats", "1", "--time-ms", "0.1",
               "--imbrex-device=host", "--report", path("r.json"), "--plot", path("p.png")]

        def drawn(code, ends_with):
            with open(path("python", "python3"), "w") as f:
                f.write(f'#!/bin/sh\n[ "$2" = --output ] && echo "$1" > "$3"\nexit {ends_with}\n')
            os.chmod(path("python", "python3"), 0o755)
            done = run(few, code=code, env={"PATH": f"{path('python')}:{os.environ['PATH']}"})
            expect(os.path.exists(path("r.json")) == (code == 0), f"a report of exit code {code}: {done.stderr}")
            return done

        expect(path("share", "imbrex", "plot-pingpong") in drawn(2, 0).stderr, "the script that is missing is not named")
        shutil.copy(SCRIPT, path("share", "imbrex", "plot-pingpong"))
        expect("leave --plot out" in drawn(2, 3).stderr, "no remedy where the script cannot draw")
        drawn(0, 0)
        with open(path("p.png")) as f:
            expect(f.read().strip() == path("share", "imbrex", "plot-pingpong"), "another script has drawn")
        few[-1] = path("none", "p.png")
        os.remove(path("r.json"))
        expect("none/p.png" in drawn(2, 0).stderr, "a picture that cannot be written is not named")


def gpu(p):
    devices = [d for d in json.loads(run([p.tool, "info", "--json"]).stdout)["devices"] if d["kind"] == "cuda"]
    if not devices:
        print("skipped: no GPU")
        return 77
    on_gpu = ["channel-device", "channel-device-chained", "message-device", "message-device-chained", "put-device", "get-device"]
    check([p.pingpong, "--imbrex-device=cuda"], HOST + on_gpu + (["copy-device"] if len(devices) > 1 else []))
    if p.mpirun:
        check(p.ranks("--imbrex-device=cuda"), HOST + on_gpu + ["mpi-device"])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=["one_process", "loopback", "mpi", "ucx", "bad_input", "plot", "gpu"])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--mpirun", nargs=argparse.REMAINDER, default=[])
    arguments = parser.parse_args()
    code = globals()[arguments.group](programs(arguments.bin, [w for w in arguments.mpirun if w]))
    for failure in FAILURES:
        print(failure, file=sys.stderr)
    return 1 if FAILURES else code or 0


if __name__ == "__main__":
    sys.exit(main())
