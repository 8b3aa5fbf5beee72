"""No public header has a scoped enumeration narrower than 32 bits: passed by value it changes between compilers."""

import argparse
import pathlib
import re
import sys

import source_files

# On x86-64 g++ leaves the upper bits of a register that passes such a value as they are, and clang's function compares
# 32 bits (docs/design/0007-two-compilers.md). Of bool and integers g++ fills them; of scoped enumerations not.
_NARROW = r"(?:bool|(?:std::)?u?int(?:8|16)_t|(?:std::)?byte|(?:un)?signed\s+char|char(?:8_t|16_t)?|(?:unsigned\s+)?short)"
_ENUM = re.compile(r"\benum\s+(?:class|struct)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)\s*:\s*" + _NARROW + r"(?:\s+int)?\s*[{;]")
_BYTE_PARAMETER = re.compile(r"[(,]\s*(?:const\s+)?std::byte\s+\w+\s*[,)=]")
_PUBLIC = (("src", "imbrex"), ("sessions", "include"))


def complaints_of(name, text):
    path = pathlib.PurePath(name)
    if path.parts[:2] not in _PUBLIC or path.suffix != ".h":
        return []
    found = []
    for match in _ENUM.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(f"{name}:{line}: enum class {match.group(1)} has less than 32 bits, which g++ and clang pass "
                     f"differently: leave its type out, and write `: 8` behind members where their size matters")
    for match in _BYTE_PARAMETER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(f"{name}:{line}: std::byte is passed by value, which g++ and clang do differently: pass "
                     f"unsigned char")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    found = []
    for name in source_files.cxx_files(root):
        found += complaints_of(name, (root / name).read_text(encoding="utf-8", errors="replace"))
    return source_files.finish("enum_width", found)


if __name__ == "__main__":
    sys.exit(main())
