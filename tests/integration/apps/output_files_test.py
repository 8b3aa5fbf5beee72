#!/usr/bin/env python3
"""What the applications do with the paths of their outputs and with a standard output that takes nothing.

  output_files_test.py GROUP --bin FOLDER

Groups: places, standard_output. An application that was not built is left out. Exit status 0 when all is well.
"""
import itertools
import json
import os
import stat
import subprocess
import sys
import tempfile

FAILURES = []
# The smallest run of each.
PROGRAMS = {
    "jacobi3d": "-x 8 -w 0 -i 1 --repeats 1 --device host",
    "minimd": "-s 4 -n 1",
    "dgemm": "--sizes 16 --repeats 1 --device host",
    "uts": "-t 0 -b 4 -m 0 -q 0 --repeats 1",
    "pingpong": "--sizes 8 --repeats 1 --time-ms 0.1 --modes entry --imbrex-device=host",
    "cholesky": "--n 32 --tile 16 --repeats 1",
    "tiled_dgemm": "--n 32 --tile 16 --repeats 1",
    "tiled_stencil": "--n 32 --tile 16 --repeats 1",
}


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def run(folder, name, *words, code=0, **more):
    done = subprocess.run([os.path.join(folder, name), *PROGRAMS[name].split(), *words], capture_output="stdout" not in more,
                          text=True, timeout=120, **more)
    if done.returncode != code:
        FAILURES.append(f"{name} {' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def is_report(text, name):
    try:
        return json.loads(text)["app"] == name
    except (ValueError, KeyError):
        return False


def read(path):
    with open(path) as f:
        return f.read()


def of_pipe(folder, name, pipe):
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
    run(folder, name, "--report", pipe)
    expect(stat.S_ISFIFO(os.stat(pipe).st_mode), f"{name}: the pipe is none any more")
    if not stat.S_ISFIFO(os.stat(pipe).st_mode):
        reader.kill()
    expect(is_report(reader.communicate(timeout=60)[0], name), f"{name}: no report came through the pipe")


def of_device(folder, name, device):
    """A node of its own, since a wrong program would replace it."""
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        with open(device, "w"):
            pass
    except OSError as e:
        print(f"{name}: no device is tried: {e}")
        return
    run(folder, name, "--report", device)
    expect(stat.S_ISCHR(os.stat(device).st_mode), f"{name}: the device is none any more")


def of_link(folder, name, link, target):
    for older in ("older", None):  # None: the link points to nothing
        if older is None:
            os.remove(target)
        else:
            with open(target, "w") as f:
                f.write(older)
        run(folder, name, "--report", link)
        expect(os.path.islink(link), f"{name}: the symbolic link is none any more")
        expect(os.path.exists(target) and is_report(read(target), name), f"{name}: the link's target is no report")


def of_own_output(folder, name, printed, link):
    """What /dev/stdout is, by a link of its own, since a wrong program would replace it."""
    os.symlink("/proc/self/fd/1", link)
    with open(printed, "w") as out:
        run(folder, name, "--report", link, stdout=out, stderr=subprocess.PIPE)
    text = read(printed)
    expect(is_report(text[text.find("\n{") + 1 :].partition("\n}")[0] + "}", name), f"{name}: its own output got {text}")
    expect(os.path.islink(link), f"{name}: the link to its own output is none any more")


def places(folder, work):
    for name in PROGRAMS:
        if not os.path.exists(os.path.join(folder, name)):
            continue
        room = os.path.join(work, name)
        os.makedirs(os.path.join(room, "a folder"))
        path = lambda leaf: os.path.join(room, leaf)
        os.mkfifo(path("pipe"))
        os.symlink("target", path("link"))
        with open(path("mine.part"), "w") as f:
            f.write("a user's")
        of_pipe(folder, name, path("pipe"))
        of_device(folder, name, path("device"))
        of_link(folder, name, path("link"), path("target"))
        run(folder, name, "--report", path("mine"))
        expect(os.path.exists(path("mine.part")) and read(path("mine.part")) == "a user's", f"{name}: mine.part is gone")
        expect(is_report(read(path("mine")), name), f"{name}: mine is no report")
        of_own_output(folder, name, path("printed"), path("screen"))
        done = run(folder, name, "--report", path("a folder"), code=2)
        expect("it is a folder" in done.stderr, f"{name}: of a folder it says {done.stderr}")
        made = {"pipe", "device", "link", "target", "mine", "mine.part", "printed", "screen", "a folder"}
        left = sorted(set(os.listdir(room)) - made)
        expect(not left, f"{name} leaves {left}")


def standard_output(folder, work):
    for name in PROGRAMS:
        if not os.path.exists(os.path.join(folder, name)):
            continue
        with open("/dev/full", "w") as full:
            done = run(folder, name, code=1, stdout=full, stderr=subprocess.PIPE)
        said = [line for line in done.stderr.splitlines() if "standard output" in line]
        expect(len(said) == 1, f"{name}: of a full device it says: {done.stderr}")
        for words, restored in itertools.product(((), ("--help",)), (True, False)):  # False: SIGPIPE is ignored
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([os.path.join(folder, name), *PROGRAMS[name].split(), *words], stdout=writer,
                                  stderr=subprocess.PIPE, text=True, timeout=120, restore_signals=restored)
            os.close(writer)
            expect(not done.stderr, f"{name} {words}: of a closed pipe it says: {done.stderr}")


def main():
    assert sys.argv[2] == "--bin"
    with tempfile.TemporaryDirectory() as work:
        {"places": places, "standard_output": standard_output}[sys.argv[1]](sys.argv[3], work)
    for f in FAILURES:
        print("FAILED:", f)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
