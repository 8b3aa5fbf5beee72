"""Which files belong to the project, and which imbrex headers a file includes. Shared by the checks."""

import os
import pathlib
import re
import subprocess

SKIPPED = 77
CXX_SUFFIXES = {".h", ".cc", ".cu"}
SOURCE_SUFFIXES = CXX_SUFFIXES | {".c", ".f90", ".hk", ".py"}
_NOT_SOURCE = {".git", "build", "out", "__pycache__", ".cache"}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


def project_files(root):
    """Paths relative to root: tracked and new files as git sees them, else every file outside build folders."""
    root = pathlib.Path(root)
    listed = None
    if (root / ".git").exists():
        git = ["git", "-c", f"safe.directory={root.resolve()}", "-C", str(root)]
        try:
            listed = subprocess.run(git + ["ls-files", "-coz", "--exclude-standard"], capture_output=True, text=True)
        except FileNotFoundError:
            pass
    if listed is not None and listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        names = []
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in _NOT_SOURCE]
            names += [str((pathlib.Path(folder) / name).relative_to(root)) for name in files]
    return sorted(name for name in names if (root / name).is_file())


def cxx_files(root):
    return [name for name in project_files(root) if pathlib.PurePath(name).suffix in CXX_SUFFIXES]


def all_sources(root):
    """Of all languages: a folder's crowd."""
    return [name for name in project_files(root) if pathlib.PurePath(name).suffix in SOURCE_SUFFIXES]


def includes(text):
    """Pairs (line number, included path)."""
    return [(text.count("\n", 0, match.start()) + 1, match.group(1)) for match in _INCLUDE.finditer(text)]


def finish(name, complaints):
    """Prints complaints, one a line, and gives the exit status."""
    for complaint in complaints:
        print(complaint)
    print(f"{name}: {len(complaints)} found" if complaints else f"{name}: nothing to complain of")
    return 1 if complaints else 0
