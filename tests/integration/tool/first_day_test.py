#!/usr/bin/env python3
"""imbrex new, completion and man: what they write, and what they refuse.

  first_day_test.py --tool FILE
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

FAILURES = []


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=50, check=False, **options)


def check_new(tool, folder):
    done = run(tool, "new", "waves", cwd=folder)
    expect(done.returncode == 0, f"new: {done.stderr}")
    for file in ("CMakeLists.txt", "main.cc", "README.md", "job.slurm", ".gitignore", ".github/workflows/ci.yml",
                 ".vscode/tasks.json"):
        path = os.path.join(folder, "waves", file)
        expect(os.path.exists(path), f"new: no {file}")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                expect("@name@" not in f.read(), f"new: {file} has the mark in place of the name")
    again = run(tool, "new", "waves", cwd=folder)
    expect(again.returncode == 2 and "not empty" in again.stderr, f"new over another: {again.returncode} {again.stderr}")
    for name in ("", "a b", "7up", "test", "help", "edit_cache", "ZERO_CHECK", "x" * 300):
        refused = run(tool, "new", name, cwd=folder)
        expect(refused.returncode == 2, f"new {name!r}: {refused.returncode} {refused.stderr}")
        expect(not os.path.exists(os.path.join(folder, name)) or not name, f"new {name!r} leaves something")
    odd = "it's ö here"
    done = run(tool, "new", "waves", "--folder", odd, cwd=folder)
    command = [line for line in done.stdout.splitlines() if " && cmake" in line][0].split(" && ")[0]
    entered = run("sh", "-c", command + " && pwd", cwd=folder)
    expect(entered.stdout.rstrip("\n").endswith(odd), f"new --folder: {command}: {entered}")
    for words in (["new", "waves", "--folder", "file/x"], ["new", "waves", "--folder", "y" * 300], ["man", "file/x"]):
        with open(os.path.join(folder, "file"), "w", encoding="utf-8"):
            pass
        refused = run(tool, *words, cwd=folder)
        expect(refused.returncode == 2 and "cannot be made" in refused.stderr and "filesystem error" not in refused.stderr,
               f"{words}: {refused.returncode} {refused.stderr}")


def completions(tool, folder, *words):
    """What bash offers behind these words, of which the last is being typed."""
    script = os.path.join(folder, "imbrex.bash")
    with open(script, "w", encoding="utf-8") as f:
        f.write(run(tool, "completion", "bash").stdout)
    listed = " ".join(f"'{w}'" for w in words)
    done = run("bash", "-c", f"compopt() {{ :; }}; source '{script}'; COMP_WORDS=({listed}); "
               f"COMP_CWORD={len(words) - 1}; _imbrex; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    expect(done.returncode == 0 and not done.stderr, f"bash: {done.stderr}")
    return done.stdout.split()


def check_completion(tool, folder):
    commands = completions(tool, folder, "imbrex", "")
    expect({"info", "doctor", "new", "trace", "man"} <= set(commands), f"commands: {commands}")
    expect(completions(tool, folder, "imbrex", "doc") == ["doctor"], "doc")
    expect("--json" in completions(tool, folder, "imbrex", "doctor", "--"), "options of doctor")
    expect(completions(tool, folder, "imbrex", "info", "--imbrex-task-pol") == ["--imbrex-task-policy="],
           "options of the runtime")
    expect({"summary", "page", "draw", "dot"} <= set(completions(tool, folder, "imbrex", "trace", "")), "commands of trace")
    expect(completions(tool, folder, "imbrex", "trace", "summary", "--j") == ["--json"], "options of trace summary")
    for words, option in ((["trace", "page"], "--bins"), (["predict"], "--seeds"), (["figures", "c20-fig5"], "--quick")):
        found = completions(tool, folder, tool, *words, "--")
        expect(option in found, f"options of {words}: {found}")
    expect(completions(tool, folder, "imbrex", "completion", "") [:3] == ["bash", "zsh", "fish"], "shells")
    expect(completions(tool, folder, "imbrex", "mpi-check", "--pattern", "MPI_GPU_TO_") == ["MPI_GPU_TO_CPU", "MPI_GPU_TO_GPU"], "patterns")
    expect(completions(tool, folder, "imbrex", "balance-replay", "--strategy", "gre") != [], "strategies")
    if "summit" in run(tool, "machines").stdout:
        expect(completions(tool, folder, "imbrex", "machines", "summ") == ["summit"], "machines")
    for shell in ("zsh", "fish"):
        done = run(tool, "completion", shell)
        expect(done.returncode == 0 and "measure-machine" in done.stdout and "imbrex-pes" in done.stdout, shell)
        program = shutil.which(shell)
        if program:
            file = os.path.join(folder, shell)
            with open(file, "w", encoding="utf-8") as f:
                f.write(done.stdout)
            checked = run(program, "-n", file)
            expect(checked.returncode == 0, f"{shell}: {checked.stderr}")
    wrong = run(tool, "completion", "tcsh")
    expect(wrong.returncode == 2 and "tcsh" in wrong.stderr, f"tcsh: {wrong.stderr}")


def check_man(tool, folder):
    pages = os.path.join(folder, "man")
    done = run(tool, "man", pages)
    expect(done.returncode == 0, f"man: {done.stderr}")
    found = sorted(os.listdir(os.path.join(pages, "man1")))
    expect("imbrex.1" in found and "imbrex-doctor.1" in found and "imbrex-man.1" in found, f"pages: {found}")
    expect("imbrex-trace-summary.1" in found and "imbrex-trace-page.1" in found, f"pages of trace's commands: {found}")
    with open(os.path.join(pages, "man1", "imbrex-trace.1"), encoding="utf-8") as f:
        expect("imbrex\\-trace\\-draw(1)" in f.read(), "the page of trace does not list its commands")
    expect(os.path.exists(os.path.join(pages, "man7", "imbrex-options.7")), "no page of the options")
    groff = shutil.which("groff")
    if groff:
        for file in found:
            checked = run(groff, "-man", "-ww", "-z", "-Tutf8", os.path.join(pages, "man1", file))
            expect(not checked.stderr, f"{file}: {checked.stderr[:300]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    tool = parser.parse_args().tool
    with tempfile.TemporaryDirectory() as folder:
        check_new(tool, folder)
        check_completion(tool, folder)
        check_man(tool, folder)
    for failure in FAILURES:
        print(failure)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
