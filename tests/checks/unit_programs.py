"""Names programs of unit tests of a configured build, one a line, as their folders are called: with --recent and --part
those that recent changes concern, and a part of the others, which take their turns; with --lines no more of all these
than have that many lines of tests. For builds with sanitizers, which take long.

A change concerns a program if it is in a folder of its name (tests/unit/<name>, src/imbrex/<name>, apps/<name>,
sessions/) or in a header, or the source beside it, that one of its tests includes by name.
"""

import argparse
import pathlib
import sys

import source_files
import turns

PLACES = ("tests/unit/{0}/", "src/imbrex/{0}/", "apps/{0}/", "{0}/")


def present(build, label):
    """Names of what this build has, of a label if one is given."""
    lines = (build / "tests" / "unit" / "programs.txt").read_text().split("\n")
    listed = [(line.split(" ")[0], line.split(" ")[1].split(";")) for line in lines if line]
    return sorted(name for name, labels in listed if not label or label in labels)


def named_by(root, name):
    """Headers of the library that a program's tests include, and the sources beside them; not those of everything."""
    named = set()
    for path in (root / "tests" / "unit" / name).rglob("*.cc"):
        headers = {f"src/{included}" for _, included in source_files.includes(path.read_text(encoding="utf-8"))}
        named |= headers | {header[:-2] + ".cc" for header in headers if header.endswith(".h")}
    return named


def concerned(root, name, changed):
    places = tuple(place.format(name) for place in PLACES)
    return any(path.startswith(places) for path in changed) or not changed.isdisjoint(named_by(root, name))


def lines_of(root, name):
    return sum(path.read_bytes().count(b"\n") for path in (root / "tests" / "unit" / name).rglob("*.cc"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--label", help="only those whose tests have this label")
    parser.add_argument("--lines", type=int, help="no more than programs with so many lines of tests, but one at least")
    turns.add_arguments(parser)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    names = present(arguments.build.resolve(), arguments.label)
    names = turns.chosen(root, names, arguments, lambda name, changed: concerned(root, name, changed))
    if arguments.lines:
        names = turns.no_more_than(root, names, lambda name: lines_of(root, name), arguments.lines)
    print("\n".join(names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
