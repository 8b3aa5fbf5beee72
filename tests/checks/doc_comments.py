"""What programs can reach is told of. Every class, enumeration and free function of a header that the public ones include has
a doc comment; every header that a public one names itself, and every name of imbrex that README, documents, examples or
applications use, is in the reference (tools/reference/topics.py). Needs Doxygen."""

import argparse
import pathlib
import re
import sys

import public_headers
import source_files

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "reference"))

import declarations  # noqa: E402
import page  # noqa: E402
import topics  # noqa: E402

# Bodies that are compiled once.
NO_COMMENTS = {"imbrex/object/compiled_bodies.h"}
_USED = re.compile(r"\b(?:ix|imbrex)::(\w+)")


def without_comment(found, headers):
    """`headers`: those to look at. An awaiter, or another class inside a class, is its owner's matter."""
    complaints = []
    for d in found:
        if d.header not in headers or d.header in NO_COMMENTS or d.specializes or d.doc or d.group or d.own_name().startswith("IMBREX_"):
            continue
        if d.kind in ("function", "enum") or d.kind == "class" and "::" not in d.name:
            complaints.append(f"src/{d.header}:{d.line}: {d.kind} {d.name} has no doc comment (///): what it is or does, units, "
                              "order, lifetime, errors")
    return complaints


def named_by_doors(read):
    named = set()
    for door in topics.DOORS:
        named |= {included for _, included in source_files.includes(read("src/" + door) or "")}
    return {name for name in named if name.startswith("imbrex/")} - NO_COMMENTS


def not_in_reference(named, found):
    """Public headers, and headers of topics that are not there."""
    told = {header for topic in topics.TOPICS for header in topic.headers}
    there = {d.header for d in found}
    return ([f"tools/reference/topics.py: no topic has {h}" for h in sorted(named & there - told) if not _only_includes(h, found)]
            + [f"tools/reference/topics.py: {h} declares nothing, or is not there" for h in sorted(told - there)])


def _only_includes(header, found):
    return all(d.kind == "define" for d in found if d.header == header)


def unknown_names(texts, found):
    """`texts`: by file. What they name and the headers declare, but no topic tells of."""
    known = set()
    for topic in topics.TOPICS:
        for _, here in page.chosen(topic, found):
            known |= {part for name in here for part in name.split("::")}
    declared = {d.own_name() for d in found if not d.specializes}
    complaints = {}
    for name, text in texts.items():
        for used in _USED.findall(text):
            if used in declared and used not in known:
                complaints.setdefault(used, name)
    return [f"{file}: names imbrex::{used}, which is in no topic of tools/reference/topics.py"
            for used, file in sorted(complaints.items())]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    if declarations.find_doxygen() is None:
        print("doc_comments: SKIPPED, Doxygen was not found (apt install doxygen)")
        return source_files.SKIPPED

    def read(name):
        return (root / name).read_text(encoding="utf-8") if (root / name).is_file() else None

    found = declarations.read_headers(root / "src")
    reached = public_headers.reached(topics.DOORS, read)
    texts = {name: read(name) for name in source_files.project_files(root)
             if name == "README.md" or name.startswith(("docs/", "examples/")) and name.endswith((".md", ".cc", ".cu", ".h"))
             and not name.startswith("docs/design/")}
    complaints = (without_comment(found, reached) + not_in_reference(named_by_doors(read), found)
                  + unknown_names(texts, found))
    return source_files.finish("doc_comments", complaints)


if __name__ == "__main__":
    sys.exit(main())
