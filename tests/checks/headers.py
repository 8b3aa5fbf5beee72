"""Public headers without a source of their own compile alone: those of the build's target imbrex_headers, or with
--recent and --part some of them."""

import argparse
import pathlib
import subprocess
import sys

import source_files
import turns

TARGET = "imbrex_headers"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    turns.add_arguments(parser)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    sources = build / "tests" / "checks" / "headers"
    names = sorted(f"src/{path.relative_to(sources).with_suffix('.h')}" for path in sources.rglob("*.cc"))
    if not names:
        print(f"there is nothing in {sources}: configure {build} first")
        return 1
    picked = turns.chosen(arguments.root.resolve(), names, arguments)
    print(f"{len(picked)} of {len(names)} headers")
    targets = [TARGET]
    if len(picked) < len(names):  # their objects, which Ninja takes for targets
        folder = f"tests/checks/CMakeFiles/{TARGET}.dir/headers"
        targets = [f"{folder}/{name[len('src/'):-len('.h')]}.cc.o" for name in picked]
    built = subprocess.run(["cmake", "--build", str(build), "--parallel", "--target", *targets]).returncode if picked else 0
    return source_files.finish("headers", ["a header does not compile alone: see above"] if built else [])


if __name__ == "__main__":
    sys.exit(main())
