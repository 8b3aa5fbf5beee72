"""The one-way rule: a file includes only its own layer or a lower one, never a sibling's."""

import argparse
import pathlib
import re
import sys

import source_files

LEVEL = {
    "base": 0,
    "async": 1,
    "device": 2,
    "memory": 3,
    "comm": 4,
    "hetero": 4,
    "object": 5,
    "balance": 6,
    "checkpoint": 6,
    "runtime": 7,
}
USERS = {"apps", "tools", "examples", "python"}
PRIVATE_LIBRARIES = ("spdlog/", "CLI/", "nlohmann/")
_CUDA = re.compile(r"^(cuda|cublas|cusparse|cufft|nvtx|nvToolsExt|cooperative_groups|cub/|thrust/)")
_CUDA_FILE = re.compile(r"(^|/)(fake_)?cuda(_[^/]*)?\.(h|cc)$")
_OPENCL_FILE = re.compile(r"(^|/)opencl(_[^/]*)?\.(h|cc)$")


def layer_complaint(path, included):
    """Why a file of src/imbrex may not include the header `imbrex/...`, or None."""
    parts = path.parts
    if len(parts) == 3:  # src/imbrex/imbrex.h: the door for users, above every layer
        return None
    own, target = parts[2], pathlib.PurePath(included).parts
    if own not in LEVEL:
        return f"{own} is no layer; the layers are {', '.join(LEVEL)}"
    if len(target) == 2:
        return "a layer does not include the header meant for users"
    if target[1] not in LEVEL:
        return f"{target[1]} is no layer"
    if target[1] != own and LEVEL[target[1]] >= LEVEL[own]:
        return f"{own} (layer {LEVEL[own]}) may not see {target[1]} (layer {LEVEL[target[1]]})"
    return None


def complaints_of(name, text):
    path = pathlib.PurePath(name)
    in_library = path.parts[:2] == ("src", "imbrex")
    found = []
    for line, included in source_files.includes(text):
        reason = None
        if included.startswith("imbrex/"):
            reason = layer_complaint(path, included) if in_library else None
        elif path.parts[0] in USERS and included.startswith(("src/", "../src/")):
            reason = "users see only the public headers imbrex/..."
        elif in_library and included.startswith("../"):
            reason = "name the header from the top: imbrex/..."
        elif in_library and path.suffix == ".h" and included.startswith(PRIVATE_LIBRARIES):
            reason = "a public header does not show a private library"
        elif _CUDA.match(included) and path.suffix != ".cu" and not _CUDA_FILE.search(name):
            reason = "CUDA headers belong in .cu files and cuda_* files"
        elif included.startswith("CL/") and not _OPENCL_FILE.search(name):
            reason = "headers of OpenCL belong in opencl_* files"
        if reason:
            found.append(f"{name}:{line}: includes {included}: {reason}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    found = []
    for name in source_files.cxx_files(root):
        found += complaints_of(name, (root / name).read_text(encoding="utf-8", errors="replace"))
    return source_files.finish("layers", found)


if __name__ == "__main__":
    sys.exit(main())
