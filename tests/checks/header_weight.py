"""What every program compiles with <imbrex/imbrex.h> leaves out headers that are slow to compile and easy to avoid."""

import argparse
import pathlib
import sys

import source_files

DOOR = "src/imbrex/imbrex.h"
HEAVY = {
    "chrono": "take imbrex/base/clock.h",
    "condition_variable": "keep it to a .cc file",
    "filesystem": "keep it to a .cc file",
    "fmt/format.h": "<fmt/core.h> has fmt::format",
    "fmt/ranges.h": "keep it to a .cc file",
    "fstream": "keep it to a .cc file",
    "future": "keep it to a .cc file",
    "iostream": "keep it to a .cc file",
    "istream": "keep it to a .cc file",
    "ostream": "keep it to a .cc file",
    "random": "keep it to a .cc file",
    "ranges": "keep it to a .cc file",
    "regex": "keep it to a .cc file",
    "sstream": "keep it to a .cc file",
    "thread": "keep it to a .cc file",
}


def complaints_of(read):
    """`read(name)` is the text of a header of the project, or None when there is no such file."""
    found, seen, waiting = [], {DOOR}, [DOOR]
    while waiting:
        name = waiting.pop()
        for line, included in source_files.includes(read(name) or ""):
            header = "src/" + included
            if included in HEAVY:
                found.append(f"{name}:{line}: includes <{included}>, which every program then compiles: {HEAVY[included]}")
            elif included.startswith("imbrex/") and header not in seen:
                seen.add(header)
                waiting.append(header)
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root

    def read(name):
        return (root / name).read_text(encoding="utf-8") if (root / name).is_file() else None

    return source_files.finish("header_weight", complaints_of(read))


if __name__ == "__main__":
    sys.exit(main())
