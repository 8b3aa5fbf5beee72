"""Every C++ and CUDA file is as clang-format 19 writes it. `format.py --root . --fix` rewrites."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import source_files

TOOL = "clang-format-19"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--fix", action="store_true", help="rewrite the files instead")
    arguments = parser.parse_args()
    tool = shutil.which(TOOL)
    if tool is None:
        print(f"SKIPPED: {TOOL} is not installed")
        return source_files.SKIPPED
    names = source_files.cxx_files(arguments.root)
    if not names:
        return source_files.finish("format", [])
    mode = ["-i"] if arguments.fix else ["--dry-run", "-Werror"]
    result = subprocess.run([tool, *mode, *names], cwd=arguments.root, stderr=subprocess.PIPE, text=True)
    places = [line.split(":")[:2] for line in result.stderr.splitlines() if " error: " in line]
    complaints = [
        f"{name}:{line}: the first of {sum(other == name for other, _ in places)} places to reformat"
        for name, line in {name: line for name, line in reversed(places)}.items()
    ]
    if result.returncode and not complaints:
        complaints = result.stderr.splitlines()
    if complaints:
        print(f"rewrite with: make format    ({os.path.basename(tool)})")
    return source_files.finish("format", complaints)


if __name__ == "__main__":
    sys.exit(main())
