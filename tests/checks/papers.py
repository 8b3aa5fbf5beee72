"""What docs/papers.md names is there: files and folders, and scripts. Each row of its tables says where something is and how to
see it."""

import argparse
import pathlib
import re
import sys

import source_files

PAGE = "docs/papers.md"
_PATH = re.compile(r"`((?:[\w*-]+/)*[\w*-]+\.(?:hk|h|cc|cu|md|py)\b|(?:[\w-]+/)+|scripts/[\w-]+)")


def complaints_of(page, files):
    """`files`: of the project."""
    ends = {"/" + name for name in files}
    folders = {"/" + str(parent) + "/" for name in files for parent in pathlib.PurePath(name).parents}
    found = []
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("| ") or line.startswith("| section"):
            continue
        if any(not cell.strip() for cell in line.strip().strip("|").split(" | ")) or line.count(" | ") != 2:
            found.append(f"{PAGE}:{number}: a row says section, where it is, and how to see it")
        for path in _PATH.findall(line):
            there = folders if path.endswith("/") else ends
            if not any(name.endswith("/" + path) for name in there):
                found.append(f"{PAGE}:{number}: there is no {path}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    page = (root / PAGE).read_text(encoding="utf-8")
    return source_files.finish("papers", complaints_of(page, source_files.project_files(root)))


if __name__ == "__main__":
    sys.exit(main())
