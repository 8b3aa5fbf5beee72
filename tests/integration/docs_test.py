#!/usr/bin/env python3
"""The samples of sections of pages in docs/ compile as they stand.

  docs_test.py PAGE... --compiler COMMAND --flags FLAGS...

Sections that include others' headers which are not here are left out, and named.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

SECTIONS = {
    "balancing.md": ("Strategies",),
    "programming.md": ("Objects of derived classes", "Exceptions from other ranks", "Marks of your own in a trace",
                       "Where elements live", "Sections", "Callbacks, futures, slots", "Halos"),
    "interoperation.md": ("A call into a stream: cuBLAS", "cuFFT", "Streams and events of others", "Memory of others",
                          "NCCL beside imbrex", "Several jobs in one program", "MPI calls of your own"),
    "from-mpi-cuda.md": ("The same step, twice",),
    "from-charm.md": ("",),
    "from-starpu.md": ("",),
}
BEGIN = "#include <imbrex/imbrex.h>\n#include <imbrex/interop.h>\nnamespace ix = imbrex;\n"

compiler = sys.argv[sys.argv.index("--compiler") + 1]
flags = sys.argv[sys.argv.index("--flags") + 1:]
folder = tempfile.TemporaryDirectory()
begin = pathlib.Path(folder.name) / "begin.h"  # read once for all: both compilers look for what is precompiled beside it


def precompile():
    begin.write_text(BEGIN)
    subprocess.run([compiler, *flags, "-x", "c++-header", str(begin), "-o", f"{begin}.gch"], check=True)


def compiled(text, *more):
    source = pathlib.Path(folder.name) / "sample.cc"
    source.write_text(text)
    return subprocess.run([compiler, *flags, *more, "-fsyntax-only", str(source)], capture_output=True, text=True)


def missing_headers(samples):
    named = re.findall(r"^#include <(.*)>", "\n".join(samples), flags=re.MULTILINE)
    return [h for h in named if compiled(f"#if !__has_include(<{h}>)\n#error\n#endif\n").returncode != 0]


precompile()
for page in map(pathlib.Path, sys.argv[1:sys.argv.index("--compiler")]):
    parts = re.split(r"^## (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}  # "": before the first heading
    for section in SECTIONS[page.name]:
        samples = re.findall(r"^```cpp\n(.*?)^```", texts[section], flags=re.MULTILINE | re.DOTALL)
        if not samples:
            sys.exit(f"'{section}' has no sample")
        if missing := missing_headers(samples):
            print(f"{section}: left out, <{missing[0]}> is not here")
            continue
        done = compiled("\n".join(samples), "-include", str(begin))
        if done.returncode != 0:
            sys.exit(f"'{section}' does not compile:\n{done.stderr}")
        print(f"{section}: {len(samples)} samples")
