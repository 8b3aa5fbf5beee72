"""docs/guide/environment.md lists every environment variable that is read or set and is no option of the runtime; and no other."""

import argparse
import pathlib
import re
import sys

import source_files

PAGE = "docs/guide/environment.md"
FOLDERS = ("src/", "apps/", "tools/", "sessions/src/", "python/imbrex/", "scripts/")
# Whose names are made of options: IMBREX_ and the option's name.
BY_NAME_OF_AN_OPTION = {"apps/support/words/runtime_words.cc"}
ORDINARY = {"PATH"}
_CALL = re.compile(r"\b(?:secure_)?(?:get|set)env\(\s*([^,)]+)")
_LIST = re.compile(r"(?:for \(const char\* \w+ :|constexpr const char\* variables\[\] =) \{([^}]*)\}")
_NUMBER = re.compile(r'\bparse_number\("(\w+)"')
_PYTHON = re.compile(r"""\benviron(?:\.get\(|\[)\s*["'](\w+)|["'](\w+)["'] (?:not )?in os\.environ\b|\bgetenv\(["'](\w+)""")
_SHELL = re.compile(r"\$\{(IMBREX_\w+):-")


def variables_of_options(texts):
    """As `config` makes them."""
    names = {name for text in texts.values() for name in re.findall(r'\.name = "([a-z0-9-]+)"', text)}
    return {"IMBREX_" + name.upper().replace("-", "_") for name in names}


def used(texts):
    """Names to files; and places where a name cannot be seen."""
    found, unseen = {}, []
    for file, text in texts.items():
        names = set(_NUMBER.findall(text)) | {n for group in _PYTHON.findall(text) for n in group if n}
        if file.startswith("scripts/"):
            names |= set(_SHELL.findall(text))
        for argument in _CALL.findall(text):
            if argument.startswith('"'):
                names.add(argument.strip('" '))
            elif not _LIST.search(text) and file not in BY_NAME_OF_AN_OPTION and "'" not in argument:
                unseen.append(f"{file}: getenv({argument}) hides its variable: name it there, or in a list")
        if _CALL.search(text):
            names |= {n for body in _LIST.findall(text) for n in re.findall(r'"(\w+)"', body)}
        for name in names:
            found.setdefault(name, file)
    return found, unseen


def complaints_of(page, texts):
    found, complaints = used(texts)
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    options = variables_of_options(texts)
    complaints += [f"{file}: {name} is not in {PAGE}" for name, file in sorted(found.items()) if name not in listed | options | ORDINARY]
    return complaints + [f"{PAGE}: nobody reads {name}" for name in sorted(listed - set(found))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    names = [n for n in source_files.project_files(root) if n.startswith(FOLDERS)
             and (pathlib.PurePath(n).suffix in source_files.SOURCE_SUFFIXES or n.startswith("scripts/"))]
    texts = {name: (root / name).read_text(encoding="utf-8", errors="replace") for name in names}
    return source_files.finish("environment", complaints_of((root / PAGE).read_text(encoding="utf-8"), texts))


if __name__ == "__main__":
    sys.exit(main())
