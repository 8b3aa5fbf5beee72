"""Files are named by what they define; no file speaks of one machine's folders or carries a note to finish later."""

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    found = []
    for name in source_files.project_files(root):
        complaint = name_complaint(name)
        found += [complaint] if complaint else []
        if pathlib.PurePath(name).suffix not in NOT_TEXT and name not in NOT_OURS:
            found += text_complaints(name, (root / name).read_text(encoding="utf-8", errors="replace"))
    return source_files.finish("names", found)


if __name__ == "__main__":
    sys.exit(main())
