"""docs/guide/errors.md tells of every kind of error and every exit code, and the messages it quotes are those of the sources."""

import argparse
import pathlib
import re
import sys

import source_files

_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:IMBREX_NOTE_\w+\s*)?"(?:[^"\\\n]|\\.)*")*')
_CLASS = re.compile(r"^(?:class|struct) (\w+)[^;{]*: public (\w+) \{(.*?)^\};", re.MULTILINE | re.DOTALL)


def literals(text):
    """Strings of a source, neighbours joined, with `...` where something is put in."""
    text = re.sub(r"^\s*(#\s*include|///?).*$", "", text, flags=re.MULTILINE)
    joined = ("".join(_LITERAL.findall(m.group(0))) for m in _LITERALS.finditer(text))
    return [re.sub(r"\.\.\.(\.\.\.)+", "...", re.sub(r"\{[^{}]*\}", "...", j)).replace("\\n", "").replace('\\"', '"') for j in joined]


def error_classes(texts):
    """Name to (kind, exit code): what is derived from `error`, through others too."""
    found = {name: (base, body) for text in texts for name, base, body in _CLASS.findall(text)}

    def value(name, pattern, default):
        while name in found:
            base, body = found[name]
            if (m := re.search(pattern, body)) is not None:
                return m.group(1)
            name = base
        return default

    def is_error(name):
        while name in found:
            name = found[name][0]
        return name == "error"

    kinds = {name: (value(name, r'kind\(\) const noexcept override \{ return "(\w+)"', "error"),
                    value(name, r"exit_code\(\) const noexcept override \{ return (\d+)", "1")) for name in found if is_error(name)}
    return {"error": ("error", "1"), **kinds}


def exit_codes(texts):
    """Name to the code that a process ends with, of 8 bits."""
    return {name: eval(value, {}) & 255  # noqa: S307: a constant of ours
            for text in texts
            for name, value in re.findall(r"constexpr int (exit_code_\w+|begin_again) = ([\d() <+]+);", text)}


def rows(page, section):
    """First cells of the tables of a section."""
    m = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return [line.split(" | ")[0].strip("| ") for line in (m.group(1) if m else "").splitlines()
            if line.startswith("| ") and not line.startswith(("| message", "| fault", "| code", "| class"))]


def complaints_of(page, texts, faults):
    where, found = "docs/guide/errors.md: ", []
    family = page[page.find("## The family"):]
    classes = error_classes(texts)
    for name, (kind, code) in sorted(classes.items()):
        if f"| `{name}` | `{kind}` | {code} |" not in family:
            found.append(f"{where}no row `{name}` with kind `{kind}` and exit code {code} in 'The family'")
        if kind != "error" and f"\n## {kind}\n" not in page:
            found.append(f"{where}no section '{kind}'")
    for name, code in sorted(exit_codes(texts).items()):
        if not re.search(rf"^\| {code} \| [^|]+ \| `{name}`", page, re.MULTILINE):
            found.append(f"{where}no row for the exit code {code}, `{name}`")
    known = "\n".join(text for source in texts for text in literals(source))
    sections = ["Reports that are no exceptions"] + sorted({kind for kind, _ in classes.values()} - {"error"})
    for section in sections:
        for message in re.findall(r"^`([^`]+)`", "\n".join(rows(page, section)), re.MULTILINE):
            if message not in known and message not in faults:
                found.append(f"{where}no source says `{message}` ({section})")
    found += [f"{where}no word of the fault '{fault}'" for fault in faults if f"`{fault}`" not in page]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    texts = [(root / name).read_text(encoding="utf-8") for name in source_files.cxx_files(root) if name.startswith("src/")]
    faults = re.findall(r'case snapshot_fault::\w+: return "([^"]+)"', "".join(texts))
    page = (root / "docs/guide/errors.md").read_text(encoding="utf-8")
    return source_files.finish("error_pages", complaints_of(page, texts, faults))


if __name__ == "__main__":
    sys.exit(main())
