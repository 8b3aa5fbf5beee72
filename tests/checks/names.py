"""Files are named by what they define; no file speaks of one machine's folders or carries a note to finish later; a
unit test keeps its names in a namespace called like its file, since several are compiled as one."""

import argparse
import pathlib
import re
import sys

import source_files

FORBIDDEN = {"util", "utils", "common", "manager", "helper", "helpers", "misc"}
NOT_TEXT = {".png", ".npy", ".gz"}
NOT_OURS = {"LICENSE"}
# Put together so that this file does not find itself.
_PLACE = re.compile("(?<![\\w.$}>*-])/(" + "work|root|farm" + ")/")
_NOTE = re.compile("\\b(" + "TO" + "DO|FIX" + "ME|XX" + "X)\\b")


def name_complaint(name):
    for part in pathlib.PurePath(name).parts:
        bad = FORBIDDEN.intersection(re.split(r"[_.\-]", part.lower()))
        if bad:
            return f"{name}: '{bad.pop()}' says nothing: name a file by the noun that it defines"
    return None


def text_complaints(name, text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if _PLACE.search(line):
            found.append(f"{name}:{number}: a path of one machine: {line.strip()}")
        if _NOTE.search(line):
            found.append(f"{name}:{number}: a note to finish later: {line.strip()}")
    return found


# Those that are compiled alone (cmake/unity.cmake): their kernels stand outside namespaces, or names are what they test.
_ALONE = re.compile(r"kernel_dialect\.h|\.hk\"|IX_INLINE|equal_names\.h")


def namespace_complaint(name, text):
    path = pathlib.PurePath(name)
    if path.parts[:2] != ("tests", "unit") or not name.endswith("_test.cc") or _ALONE.search(text):
        return None
    for wanted in (path.stem, f"{path.parent.name}_{path.stem}"):  # the folder, where a layer has two files of one name
        if f"\nnamespace {wanted} {{\n" in text:
            return None
    return f"{name}: what it defines stands in a namespace {path.stem}: several tests are compiled as one"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    found = []
    for name in source_files.project_files(root):
        complaint = name_complaint(name)
        found += [complaint] if complaint else []
        if pathlib.PurePath(name).suffix not in NOT_TEXT and name not in NOT_OURS:
            text = (root / name).read_text(encoding="utf-8", errors="replace")
            complaint = namespace_complaint(name, text)
            found += text_complaints(name, text) + ([complaint] if complaint else [])
    return source_files.finish("names", found)


if __name__ == "__main__":
    sys.exit(main())
