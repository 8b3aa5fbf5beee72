"""Pages of the reference, as Markdown for MyST."""

import re

WIDTH = 110


def _without_template(name):
    return re.sub(r"<.*", "", name).strip()


def slug(name):
    """As MyST makes anchors of headings."""
    return re.sub(r"[^\w\- ]", "", name.lower()).strip().replace(" ", "-")


def wrapped(signature):
    """Long lists of parameters on lines of their own."""
    lines = []
    for line in signature.split("\n"):
        while len(line) > WIDTH and ", " in line[40:WIDTH]:
            cut = line.rindex(", ", 40, WIDTH) + 1
            lines.append(line[:cut])
            line = "    " + line[cut:].strip()
        lines.append(line)
    return "\n".join(lines)


def _is_of_interest(member, owner):
    """Not what every class has, nor what the runtime calls."""
    name = member.own_name()
    if name.startswith("~") or name in ("operator=", "serialize", "await_ready", "await_suspend", "await_resume", "promise_type"):
        return False
    if re.search(rf"\b{re.escape(name)}\((const )?{re.escape(name)}(<.*>)?&{{1,2}}( \w+)?\)", member.signature):
        return False  # copies and moves
    return not member.doc.startswith("For the runtime") and not member.group.startswith("For the runtime")


class Links:
    """Code that names something of the reference leads there, from elsewhere."""

    def __init__(self, declarations):
        self.places = {}
        self.ambiguous = {m.own_name() for d in declarations for m in d.members}

    def add(self, name, page):
        self.places.setdefault(name, f"{page}.md#{slug(name)}")

    def put_into(self, text, page, own):
        def link(match):
            name = match.group(1).removeprefix("imbrex::").removeprefix("ix::")
            place = self.places.get(name)
            if place is None or name == own or name in self.ambiguous:
                return match.group(0)
            return f"[`{match.group(1)}`]({place.removeprefix(page + '.md')})"

        parts = re.split(r"(```.*?```|^#.*?$)", text, flags=re.DOTALL | re.MULTILINE)  # not in blocks and titles
        return "".join(p if i % 2 else re.sub(r"(?<!\[)`([\w:]+)`", link, p) for i, p in enumerate(parts))


def _block(declarations):
    return "```cpp\n" + "\n".join(wrapped(d.signature) for d in declarations) + "\n```\n"


def _functions(members):
    """What shares a comment is shown as one."""
    text, together, bare = "", [], []

    def flush():
        nonlocal text, together
        if together:
            text += "\n" + _block(together) + "\n" + together[0].doc + "\n"
        together = []

    for m in members:
        if not m.doc:
            bare.append(m)
            continue
        if together and m.doc != together[0].doc:
            flush()
        together.append(m)
    flush()
    return text + (("\nAnd:\n" if text else "") + "\n" + _block(bare) if bare else "")


def _grouped(members):
    """Under the titles of their groups."""
    text, titles = "", list(dict.fromkeys(m.group for m in members))
    for title in sorted(titles, key=bool):
        text += f"\n**{title.rstrip(':.')}**\n" if title else ""
        text += _functions([m for m in members if m.group == title])
    return text


def _values(d):
    rows = "".join(f"- `{name}`" + (f": {doc}" if doc else "") + "\n" for name, doc in d.values)
    return f"\n{rows}"


def class_text(d):
    members = [m for m in d.members if _is_of_interest(m, d)]
    text = "\n" + _block([d]) + f"\n{d.doc}\n"
    data = [m for m in members if m.kind == "variable"]
    if data:
        text += "\n" + "".join(
            f"- `{re.sub(chr(10), ' ', m.signature).rstrip(';')}`" + (f": {m.doc}" if m.doc else "") + "\n" for m in data)
    for e in (m for m in members if m.kind == "enum"):
        text += f"\n`{e.signature}`: {e.doc}\n" + _values(e)
    return text + _grouped([m for m in members if m.kind in ("function", "typedef")])


def entry_text(name, same):
    """Everything of one name: a class, or functions that share it."""
    text = f"\n### {name}\n"
    for d in same:
        if d.kind == "class":
            text += class_text(d)
        elif d.kind == "enum":
            text += "\n" + _block([d]) + f"\n{d.doc}\n" + _values(d)
    others = [d for d in same if d.kind not in ("class", "enum")]
    return text + (_grouped(others) if others else "")


def chosen(topic, declarations):
    """Of a topic, by header: lists of (name, declarations), in the order of the headers."""
    for header, names in topic.headers.items():
        here = {}
        for d in declarations:
            if d.header != header or d.specializes or "awaiter" in d.own_name():
                continue
            if d.kind == "define" and not d.doc:
                continue
            if d.doc.startswith("For the runtime") or "::" in d.name and d.kind == "class" and not d.doc:
                continue
            name = _without_template(d.name if d.kind != "variable" or "::" not in d.name else d.name.rsplit("::", 1)[0])
            if names is None or name in names or name.split("::")[0] in names:
                here.setdefault(name, []).append(d)
        yield header, here


def topic_page(topic, declarations, links, reached):
    text = f"# {topic.title}\n\n{topic.beginning}\n"
    for header, here in chosen(topic, declarations):
        if not here:
            continue
        text += f"\n## {header.removeprefix('imbrex/')}\n"
        if header not in reached:
            text += f"\n`#include <{header}>`\n"
        for name, same in here.items():
            text += links.put_into(entry_text(name, same), topic.page, name)
    return text


def index_page(topics, names):
    """`names`: name to link."""
    text = ("# Reference\n\nWhat the headers say of each class and function: `#include <imbrex/imbrex.h>`, where nothing else is "
            "named. All is in the namespace `imbrex`. What is of a type in `imbrex::detail` is to be awaited or passed on, not "
            "named.\n\n```{toctree}\n:maxdepth: 1\n\n")
    text += "\n".join(t.page for t in topics) + "\n```\n\n## Names\n\n"
    letters = {}
    for name in sorted(names, key=str.lower):
        letters.setdefault(name[0].upper(), []).append(f"[{name}]({names[name]})")
    return text + "\n".join(f"**{letter}** " + ", ".join(here) + "\n" for letter, here in letters.items())
