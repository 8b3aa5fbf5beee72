#!/usr/bin/env python3
"""The tool: whose the words of a command line are, signals, and output that cannot be written.

  command_line_test.py --tool FILE
"""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

FAILURES = []

# A program for `imbrex predict`: keeps its words, and reports as programs in virtual time do.
PROGRAM = """#!{python}
import json, sys
open("{folder}/words", "w").write("\\n".join(sys.argv[1:]))
report = [w.split("=", 1)[1] for w in sys.argv if w.startswith("--imbrex-machine-report=")][0]
parts = dict.fromkeys(("launch", "message", "dispatch", "notice", "own", "idle"), 1e-6)
json.dump(dict(pe_seconds=parts, pes=1, gpus=1, gpu_busy_seconds=1e-6, busiest_gpu_seconds=1e-6, virtual_seconds=1e-5),
          open(report, "w"))
"""


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def run(*words, **options):
    return subprocess.run(words, stderr=subprocess.PIPE, text=True, timeout=50, check=False,
                          **{"stdout": subprocess.PIPE, **options})


def script(folder, name, text):
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return str(file)


def check_words(tool, folder):
    """Words behind the name of a program are the program's, the runtime's options among them, too."""
    program = script(folder, "program", PROGRAM.format(python=sys.executable, folder=folder))
    options = ["--machine", "summit", "--gpus", "6", "--seeds", "1"]
    for words in ([*options, "--imbrex-completion=sync"], [*options, "--", "--imbrex-completion=sync"]):
        done = run(tool, "--imbrex-log", "warning", "predict", program, *words)
        given = (folder / "words").read_text().splitlines() if done.returncode == 0 else []
        expect(done.returncode == 0 and "--imbrex-completion=sync" in given, f"predict {words}: {given} {done.stderr}")
    done = run(tool, "mpi-check", "--repeats", "1", program, "--imbrex-pes", "1", "x", cwd=folder)
    expect(done.returncode == 2 and "no option '--imbrex-pes'" in done.stderr and "after --" in done.stderr,
           f"mpi-check without --: {done.returncode} {done.stderr}")
    done = run(tool, "mpi-check", "--repeats", "1", "--output", "run", "--", "./absent", cwd=folder)
    expect(done.returncode == 2 and "cannot start ./absent" in done.stderr, f"mpi-check --output run: {done.stderr}")
    done = run(tool, "mpi-check", "--imbrex-log", cwd=folder)
    expect(done.returncode == 2 and "no option '--imbrex-log'" in done.stderr, f"mpi-check --imbrex-log: {done.stderr}")
    done = run(tool, "--imbrex-checkpoint", "checkpoints", "run", "--", "sh", "-c", "exit 3", cwd=folder)
    expect(done.returncode == 2 and "no folder for checkpoints" in done.stderr, f"run: {done.returncode} {done.stderr}")
    for given, expected in ((None, "hash"), ("ds21", "ds21")):
        words = [tool, "run", "--checkpoint", str(folder / "none"), "--", "sh", "-c", "echo gds=$PMIX_MCA_gds"]
        environment = {k: v for k, v in os.environ.items() if k != "PMIX_MCA_gds"} | ({"PMIX_MCA_gds": given} if given else {})
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
        expect(f"gds={expected}\n" in done.stdout, f"run, mpirun may hang: {given} {done.stdout} {done.stderr}")


def check_unknown(tool):
    for words in (["--nosuch"], ["--nosuch", "info"], ["balance-replay", "--nosuch"], ["info", "--nosuch"]):
        done = run(tool, *words)
        expect(done.returncode == 2 and "there is no option '--nosuch'" in done.stderr, f"{words}: {done.stderr}")
    done = run(tool, "trace", "nosuch", "x.json")
    expect(done.returncode == 2 and "there is no command 'trace nosuch', but summary, page" in done.stderr, f"trace nosuch: {done.stderr}")
    for words in (["--most", "0"], ["--width", "-5"], ["--from", "-5"]):
        done = run(tool, "trace", "draw", "x.json", *words)
        expect(done.returncode == 2 and f"{words[0]} {words[1]}: at least" in done.stderr, f"{words}: {done.stderr}")
    done = run(tool)
    expect(done.returncode == 2 and "subcommand is required" in done.stderr, f"nothing: {done.stderr}")


def check_output(tool, folder):
    """Standard output that takes nothing."""
    (folder / "empty").write_text("")
    for words in (["machines", "summit"], ["machines", "--json"], ["completion", "bash"], ["--help"], ["--version"],
                  ["info"], ["--imbrex-help"]):
        with open(folder / "empty", encoding="utf-8") as only_read:
            done = run(tool, *words, stdout=only_read)
        expect(done.returncode == 1 and "standard output" in done.stderr and done.stderr.count("\n") == 1,
               f"{words}: {done.returncode} {done.stderr}")
    for ignored in (signal.SIG_DFL, signal.SIG_IGN):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as pipe:
            done = run(tool, "machines", "summit", stdout=pipe, restore_signals=False,
                       preexec_fn=lambda i=ignored: signal.signal(signal.SIGPIPE, i))
        expect(done.returncode in (0, -signal.SIGPIPE) and not done.stderr, f"a reader that has gone: {done}")


def check_places(tool, folder):
    """Files that cannot be written are told of before anything is measured."""
    program = script(folder, "never", f"#!/bin/sh\ntouch {folder}/ran\n")
    file = folder / "file"
    file.write_text("a user's own")
    for place in (folder / "absent" / "x", folder, file / "x"):
        done = run(tool, "predict", program, "--machine", "summit", "--gpus", "6", "--json", str(place))
        expect(done.returncode == 2 and f"--json {place}" in done.stderr, f"predict --json: {done.returncode} {done.stderr}")
        done = run(tool, "mpi-check", "--output", str(folder / "o"), "--html", str(place), "--", program)
        expect(done.returncode == 2 and f"--html {place}" in done.stderr, f"mpi-check --html: {done.returncode} {done.stderr}")
    expect(not (folder / "ran").exists(), "a program ran before places were looked at")
    run(tool, "mpi-check", "--output", str(folder / "o"), "--html", str(file), "--", program)
    expect(file.read_text() == "a user's own", "a file is overwritten by a check that fails")
    with open(file, encoding="utf-8") as only_read:
        done = run(tool, "predict", script(folder, "program", PROGRAM.format(python=sys.executable, folder=folder)), "--machine", "summit",
                   "--gpus", "6", "--json", str(folder / "predicted.json"), stdout=only_read)
    expect(done.returncode == 1 and done.stderr.endswith("imbrex predict: standard output: Bad file descriptor\n"),
           f"predict: {done.returncode} {done.stderr}")


def wait_until(holds):
    end = time.monotonic() + 30
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def check_signals(tool, folder):
    """What is told to end tells the job that it waits for, and leaves nothing behind."""
    started = folder / "started"
    program = script(folder, "long", f"#!/bin/sh\necho $$ > {started}.part\nmv {started}.part {started}\nexec sleep 60\n")
    temporary = folder / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    commands = {"mpi-check": ["mpi-check", "--output", str(folder / "checked"), "--", program],
                "predict": ["predict", program, "--machine", "summit", "--gpus", "6"]}
    for name, words in commands.items():
        for number in (signal.SIGTERM, signal.SIGHUP) if name == "predict" else (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            started.unlink(missing_ok=True)
            with subprocess.Popen([tool, *words], env=environment, stderr=subprocess.PIPE, text=True) as command:
                if not wait_until(started.exists):
                    command.kill()
                    FAILURES.append(f"{name}: its program was not started")
                    continue
                child = int(started.read_text())
                command.send_signal(number)
                _, said = command.communicate(timeout=30)
            ended = wait_until(lambda c=child: not alive(c))
            expect(ended, f"{name} and signal {number}: its program goes on")
            if not ended:
                os.kill(child, signal.SIGKILL)
            expect(command.returncode in (-number, 128 + number), f"{name} and signal {number}: {command.returncode} {said}")
            expect("Traceback" not in said, said)
            expect(not list(temporary.iterdir()), f"{name} leaves {list(temporary.iterdir())}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    tool = parser.parse_args().tool
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_words(tool, folder)
        check_unknown(tool)
        check_output(tool, folder)
        check_places(tool, folder)
        check_signals(tool, folder)
    for failure in FAILURES:
        print(failure)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
