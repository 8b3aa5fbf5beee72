"""clang-tidy 19 over the library's and applications' sources, several at a time.

A file that passed is not looked at again until it, a header of the project that it reaches, or the list of checks
changes: the build folder's lint/ keeps one stamp per file. Where nothing has been kept, as in a fresh clone, --recent
and --part choose: what changed of late, and a part of the rest that is another one with each commit.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import source_files
import turns

TOOL = "clang-tidy-19"
FOLDERS = ("src/imbrex/", "apps/", "tools/", "sessions/")


class fingerprints:
    """Digest of a file and of every project header that it reaches."""

    def __init__(self, root, seed):
        self.root, self.seed, self.reached = root, seed, {}

    def _find(self, name, included):
        for folder in (self.root / "src", (self.root / name).parent, self.root):
            if (folder / included).is_file():
                return os.path.relpath(folder / included, self.root)
        return None

    def _direct(self, name):
        """The text of a file and the project headers that it names itself."""
        if name not in self.reached:
            text = (self.root / name).read_text(encoding="utf-8", errors="replace")
            headers = [self._find(name, included) for _, included in source_files.includes(text)]
            self.reached[name] = (text, [header for header in headers if header])
        return self.reached[name]

    def of(self, name):
        seen, waiting = {name}, [name]
        while waiting:
            for header in self._direct(waiting.pop())[1]:
                if header not in seen:
                    seen.add(header)
                    waiting.append(header)
        digest = hashlib.sha256(self.seed)
        for part in sorted(seen):
            digest.update(part.encode() + b"\0" + self._direct(part)[0].encode() + b"\0")
        return digest.hexdigest()


# What clang-tidy does not take: headers that g++ has precompiled, and settings of g++ itself.
_NOT_FOR_CLANG = re.compile(r" -Winvalid-pch| --param=\S+| -Xclang -include-pch -Xclang \S+\.pch"
                          r"| (?:-Xclang )?-include (?:-Xclang )?\S+/cmake_pch\.hxx")


# Of a source that CMake made of several (see cmake/unity.cmake).
_ONE_OF_SEVERAL = re.compile(r'^#include "(/[^"]+\.cc)"$', re.MULTILINE)


def one_by_one(entries):
    """Compile commands of single sources in the place of those of several at once."""
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if path.parent.name != "Unity" or not path.is_file():
            yield entry
            continue
        for source in _ONE_OF_SEVERAL.findall(path.read_text()):
            yield {**entry, "file": source, "command": entry["command"].replace(str(path), source)}


def as_clang_tidy_reads_them(build):
    """A folder with the compile commands of this one, each of one source, without precompiled headers: clang-tidy would
    read all of them."""
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    entries = list(one_by_one(json.loads((build / "compile_commands.json").read_text())))
    for entry in entries:
        entry["command"] = _NOT_FOR_CLANG.sub("", entry["command"])
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder


def lint(tool, build, root, name):
    # Warnings that only another compiler knows, and what g++ records for it, are not clang's business.
    command = [tool, "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option", str(root / name)]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout + (result.stderr if result.returncode else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    turns.add_arguments(parser)
    arguments = parser.parse_args()
    root, build = arguments.root.resolve(), arguments.build.resolve()
    tool = shutil.which(TOOL)
    if tool is None:
        print(f"SKIPPED: {TOOL} is not installed")
        return source_files.SKIPPED

    build = as_clang_tidy_reads_them(build)
    commands = {entry["file"]: entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())}
    # Files of kernels are compiled by nvcc, whose options clang does not know.
    names = [name for name in source_files.cxx_files(root)
             if name.startswith(FOLDERS) and str(root / name) in commands and not name.endswith(".cu")]
    names = turns.chosen(root, names, arguments)
    version = subprocess.run([tool, "--version"], capture_output=True).stdout
    prints = fingerprints(root, version + (root / ".clang-tidy").read_bytes())
    stamps = build
    pending = []
    for name in names:
        wanted = prints.of(name)
        stamp = stamps / (name.replace("/", "__") + ".passed")
        if not stamp.exists() or stamp.read_text() != wanted:
            pending.append((name, stamp, wanted))

    print(f"{len(names)} files, {len(pending)} changed since they last passed")
    complaints, started = [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {pool.submit(lint, tool, build, root, item[0]): item for item in pending}
        for done in concurrent.futures.as_completed(running):
            name, stamp, wanted = running[done]
            status, output = done.result()
            if status:
                complaints.append(output.strip() or f"{name}: {TOOL} ended with {status}")
            else:
                stamp.write_text(wanted)
    print(f"{time.monotonic() - started:.0f} s")
    return source_files.finish("lint", complaints)


if __name__ == "__main__":
    sys.exit(main())
