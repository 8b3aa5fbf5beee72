"""Applications and examples know no more of the runtime than programs of others: they include what a header of
`imbrex/` itself reaches, or what the documents name, and use nothing of `imbrex::detail`. What they are compared with may
reach deeper, as it stands beside the runtime and not on it."""

import argparse
import pathlib
import re
import sys

import source_files

# What is measured beside the runtime: by MPI, UCX or CUDA as they are.
COMPARED = re.compile(r"^apps/(\w+/(mpi|raw)/|pingpong/exchanges/(player|referee)\.|support/mpi_|dgemm/cuda_naive\.)")
GENERATED = {"imbrex/base/build_config.h"}
# CUB sorts in a stream that may be simulated, which no document tells of.
MAY_USE_DETAIL = {"apps/minimd/kernels/gpu_sort.cu", "apps/minimd/kernels/gpu_exchange.cu"}
_DETAIL = re.compile(r"\b(imbrex|ix)::detail::")


def reached(doors, read):
    """The headers that these include, and so on."""
    seen, waiting = set(doors), list(doors)
    while waiting:
        for _, included in source_files.includes(read("src/" + waiting.pop()) or ""):
            if included.startswith("imbrex/") and included not in seen:
                seen.add(included)
                waiting.append(included)
    return seen


def complaints_of(files, doors, documents, read):
    """`files`: those of programs; `doors`: headers of imbrex/ itself; `documents`: their text."""
    open_to_all = reached(doors, read) | GENERATED
    found = []
    for name in files:
        if COMPARED.match(name):
            continue
        text = read(name) or ""
        for line, included in source_files.includes(text):
            if included.startswith("imbrex/") and included not in open_to_all and included not in documents:
                found.append(f"{name}:{line}: includes <{included}>, which no document names: programs of others cannot "
                             "know it")
        for line, words in enumerate(text.splitlines(), 1):
            if _DETAIL.search(words) and name not in MAY_USE_DETAIL:
                found.append(f"{name}:{line}: uses imbrex::detail: what a program needs belongs to the public interface")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root

    def read(name):
        return (root / name).read_text(encoding="utf-8") if (root / name).is_file() else None

    files = [name for name in source_files.cxx_files(root) + [n for n in source_files.project_files(root)
                                                            if n.endswith(".cpp")] if name.startswith(("apps/", "examples/"))]
    doors = ["imbrex/" + p.name for p in (root / "src/imbrex").glob("*.h")]
    documents = "".join(p.read_text(encoding="utf-8") for p in [root / "README.md", *(root / "docs").glob("*.md")])
    return source_files.finish("public_headers", complaints_of(files, doors, documents, read))


if __name__ == "__main__":
    sys.exit(main())
