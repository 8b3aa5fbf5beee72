#!/usr/bin/env python3
"""The samples of sections of docs/programming.md compile as they stand.

  docs_test.py PROGRAMMING_MD --compiler COMMAND --flags FLAGS...
"""
import re
import subprocess
import sys
import tempfile

SECTIONS = ("Objects of derived classes", "Exceptions from other ranks", "Marks of your own in a trace", "Where elements live",
            "Sections", "Callbacks, futures, slots")

compiler = sys.argv[sys.argv.index("--compiler") + 1]
flags = sys.argv[sys.argv.index("--flags") + 1:]
with open(sys.argv[1], encoding="utf-8") as file:
    parts = re.split(r"^## (.*)$", file.read(), flags=re.MULTILINE)
texts = dict(zip(parts[1::2], parts[2::2]))
for section in SECTIONS:
    samples = re.findall(r"^```cpp\n(.*?)^```", texts[section], flags=re.MULTILINE | re.DOTALL)
    if not samples:
        sys.exit(f"'{section}' has no sample")
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
        source.write("#include <imbrex/imbrex.h>\nnamespace ix = imbrex;\n" + "\n".join(samples))
        source.flush()
        done = subprocess.run([compiler, *flags, "-fsyntax-only", source.name], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"'{section}' does not compile:\n{done.stderr}")
    print(f"{section}: {len(samples)} samples")
