"""The one-way rule: a file includes only its own layer or a lower one, never a sibling's; and so do the rooms inside a
layer. A folder holds 30 files at most."""

import argparse
import collections
import pathlib
import re
import sys

import source_files

LEVEL = {
    "base": 0,
    "trace": 1,
    "async": 2,
    "device": 3,
    "comm": 4,
    "hetero": 4,
    "pe": 5,
    "object": 6,
    "balance": 7,
    "checkpoint": 7,
    "fields": 7,
    "virtual_time": 7,
    "runtime": 8,
    "tuning": 9,
}
# From the lowest: "" is the layer's own folder, which has either what its rooms share or what they are for.
ROOMS = {
    "base": [{"memory"}, {""}],
    "device": [{""}, {"kernel"}, {"pool", "rounds"}, {"host"}, {"cuda/api"}, {"cuda/signals"}, {"cuda", "opencl"}, {"cuda/text"}, {"kernel/text"}, {"interop", "star"}, {"star/resident"}],
    "comm": [{""}, {"data", "loopback", "mpi"}, {"ucx"}],
    "hetero": [{"visits"}, {""}, {"coherence"}, {"graph", "placement"}, {"tasks"}, {"windows", "submission"}],
    "pe": [{"remote"}, {""}],
    "object": [{"entry"}, {"data"}, {"state"}, {"collection"}, {"load", "seeds"}, {"channel"}, {"moving"}, {""}, {"halo", "repeat", "distribution"}],
    "checkpoint": [{"erasure_code"}, {""}, {"memory"}, {"live"}],
    "balance": [{""}, {"strategies"}, {"live"}],
    "runtime": [{"options"}, {""}, {"rank"}, {"virtual_time"}, {"job"}],
    "virtual_time": [{""}, {"core"}, {"machine"}, {"gpu"}, {"network"}],
}
SESSIONS = ["base", "routines", "driver", "staging", "library"]  # rooms of sessions/src, from the lowest
MOST_FILES = 30
USERS = {"apps", "tools", "examples", "python"}
PRIVATE_LIBRARIES = ("spdlog/", "CLI/", "nlohmann/")
_CUDA = re.compile(r"^(cuda|cublas|cusparse|cufft|nvtx|nvToolsExt|cooperative_groups|cub/|thrust/)")
_CUDA_FILE = re.compile(r"(^|/)(fake_)?cuda(_[^/]*)?\.(h|cc)$")
_OPENCL_FILE = re.compile(r"(^|/)opencl(_[^/]*)?\.(h|cc)$")


def in_cuda_file(path, name):
    """Examples show how others' libraries are used as a program would use them."""
    return path.suffix == ".cu" or _CUDA_FILE.search(name) or path.parts[0] == "examples"


def room_level(layer, room):
    """How high a room lies in its layer, or None where the layer has no such room."""
    rooms = ROOMS.get(layer, [{""}])
    return next((level for level, names in enumerate(rooms) if room in names), None)


def layer_complaint(path, included):
    """Why a file of src/imbrex may not include the header `imbrex/...`, or None."""
    parts = path.parts
    if len(parts) == 3:  # src/imbrex/imbrex.h: the door for users, above every layer
        return None
    target = pathlib.PurePath(included).parts
    own, own_room = parts[2], "/".join(parts[3:-1])
    if own not in LEVEL:
        return f"{own} is no layer; the layers are {', '.join(LEVEL)}"
    if room_level(own, own_room) is None:
        return f"{own} has no room {own_room}; add it to ROOMS, at its height"
    if len(target) == 2:
        return "a layer does not include the header meant for users"
    layer, room = target[1], "/".join(target[2:-1])
    if layer not in LEVEL:
        return f"{layer} is no layer"
    if room_level(layer, room) is None:
        return f"{layer} has no room {room}"
    if layer != own:
        if LEVEL[layer] >= LEVEL[own]:
            return f"{own} (layer {LEVEL[own]}) may not see {layer} (layer {LEVEL[layer]})"
    elif room != own_room and room_level(own, room) >= room_level(own, own_room):
        return f"{own}/{own_room} may not see {own}/{room}, which is no lower"
    return None


def sessions_complaint(path, included):
    """Why a file of sessions/src may not include the file, or None."""
    own, target = path.parts[2], included.split("/")[0]
    if own not in SESSIONS:
        return f"sessions/src has no room {own}; the rooms are {', '.join(SESSIONS)}"
    if "/" in included and target in SESSIONS and SESSIONS.index(target) > SESSIONS.index(own):
        return f"{own} may not see {target}, which is higher"
    return None


def crowded(names):
    """Folders with too many files."""
    files = collections.Counter(str(pathlib.PurePath(n).parent) for n in names)
    return [
        f"{folder}: {number} files; make rooms of at most {MOST_FILES}"
        for folder, number in sorted(files.items())
        if number > MOST_FILES
    ]


def complaints_of(name, text):
    path = pathlib.PurePath(name)
    in_library = path.parts[:2] == ("src", "imbrex")
    found = []
    for line, included in source_files.includes(text):
        reason = None
        if included.startswith("imbrex/"):
            reason = layer_complaint(path, included) if in_library else None
        elif path.parts[:2] == ("sessions", "src"):
            reason = sessions_complaint(path, included)
        elif path.parts[0] in USERS and included.startswith(("src/", "../src/")):
            reason = "users see only the public headers imbrex/..."
        elif in_library and included.startswith("../"):
            reason = "name the header from the top: imbrex/..."
        elif in_library and path.suffix == ".h" and included.startswith(PRIVATE_LIBRARIES):
            reason = "a public header does not show a private library"
        elif _CUDA.match(included) and not in_cuda_file(path, name):
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
    found += crowded(source_files.all_sources(root))
    return source_files.finish("layers", found)


if __name__ == "__main__":
    sys.exit(main())
