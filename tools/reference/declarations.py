"""Classes, functions, constants of headers with their doc comments, as Doxygen reads them."""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

# As a CUDA compiler sees them where all is built.
_DOXYFILE = """
INPUT = "{source}"
FILE_PATTERNS = *.h
RECURSIVE = YES
STRIP_FROM_PATH = "{source}"
OUTPUT_DIRECTORY = "{out}"
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
AUTOLINK_SUPPORT = NO
QUIET = YES
WARNINGS = NO
MACRO_EXPANSION = YES
PREDEFINED = __CUDACC__=1 IMBREX_HAVE_CUDA=1 IMBREX_HAVE_OPENCL=1 IMBREX_HAVE_HDF5=1 __cpp_lib_mdspan=1 __global__= \\
  __device__= __host__= __forceinline__=inline
"""


@dataclasses.dataclass
class Declaration:
    kind: str  # class, function, variable, enum, typedef, define
    name: str  # without imbrex::
    header: str
    line: int
    end: int
    signature: str
    doc: str
    group: str = ""  # the title of the \\name group it is in
    members: list = dataclasses.field(default_factory=list)
    values: list = dataclasses.field(default_factory=list)  # of an enum: (text, doc)
    specializes: bool = False

    def own_name(self):
        return self.name.rsplit("::", 1)[-1]


def find_doxygen():
    return shutil.which("doxygen")


def _tidy(text):
    """Types as the project writes them: Doxygen has blanks inside angle brackets."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"<\s+", "<", text)
    text = re.sub(r"(?<!operator)\s+>(?!\s*[0-9=])", ">", text)
    text = re.sub(r"\s+([&*]+)", r"\1", text)
    text = re.sub(r"([&*])(?=[A-Za-z_:])", r"\1 ", text).replace("< ", "<").replace("& &", "&&")
    return re.sub(r"(?<=[\w>*&])=(?=[\w{:\"'-])", " = ", text)


def _flat(element):
    return "" if element is None else "".join(element.itertext())


def _inline(element):
    """Running text of a paragraph as Markdown."""
    text = element.text or ""
    for child in element:
        if child.tag == "computeroutput":
            text += "`" + _flat(child) + "`"
        elif child.tag == "verbatim":
            text = text.rstrip() + "\n\n```cpp\n" + _flat(child).strip("\n").rstrip() + "\n```\n\n"
        elif child.tag == "emphasis":
            text += "*" + _flat(child) + "*"
        elif child.tag == "bold":
            text += "**" + _flat(child) + "**"
        elif child.tag in ("itemizedlist", "orderedlist"):
            mark = "-" if child.tag == "itemizedlist" else "1."
            text += "\n\n" + "".join(f"{mark} " + " ".join(_inline(p).strip() for p in item) + "\n" for item in child) + "\n"
        else:
            text += _inline(child)
        text += child.tail or ""
    return text


def _doc(element):
    parts = [_inline(p).strip() for tag in ("briefdescription", "detaileddescription")
             for p in (element.find(tag) if element.find(tag) is not None else [])]
    text = "\n\n".join(p for p in parts if p)
    blocks = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(b if i % 2 else re.sub(r"^ +(?=\S)", "", b, flags=re.MULTILINE) for i, b in enumerate(blocks)).strip()


def _template(element):
    found = element.find("templateparamlist")
    if found is None:
        return ""
    parameters = []
    for p in found:
        text = _tidy(_flat(p.find("type")) + " " + (p.findtext("declname") or ""))
        default = _tidy(_flat(p.find("defval")))
        parameters.append(text + (f" = {default}" if default else ""))
    requires = _tidy(_flat(element.find("requiresclause")))
    return f"template <{', '.join(parameters)}>" + (f" requires {requires}" if requires else "") + "\n"


def _signature(member, kind):
    name, kinds = member.findtext("name"), _tidy(_flat(member.find("type")))
    start = _template(member)
    value = " ".join(_flat(member.find("initializer")).split())
    if kind == "function":
        words = ("static " if member.get("static") == "yes" else "") + ("explicit " if member.get("explicit") == "yes" else "")
        words += "virtual " if member.get("virt") in ("virtual", "pure-virtual") else ""
        kinds = re.sub(r"^task$", "task<>", kinds.replace("friend ", "").replace("inline ", ""))  # Doxygen drops <>
        arguments = re.sub(r" ?= ?(default|0)$", "", _tidy(member.findtext("argsstring") or ""))
        return start + f"{words}{kinds} {_tidy(name)}".replace("  ", " ").strip() + arguments + ";"
    if kind == "typedef":
        return f"{start}using {name} = {kinds};"
    if kind == "enum":
        return f"enum class {name}"
    if kind == "define":
        parameters = [p.findtext("defname") or "" for p in member.findall("param")]
        return f"{name}({', '.join(parameters)})"
    static = "static " if member.get("static") == "yes" else ""
    return f"{start}{static}{kinds} {name}{_tidy(member.findtext('argsstring') or '')}" + (
        f" {value}" if value.startswith(("=", "{")) and len(value) < 50 else "") + ";"


def _place(element):
    place = element.find("location")
    line, end = int(place.get("line")), int(place.get("bodyend") or -1)
    return place.get("file"), line, max(line, end)


def _member(member, prefix, group):
    kind = member.get("kind")
    header, line, end = _place(member)
    values = [(v.findtext("name") + (" " + _flat(v.find("initializer")) if v.find("initializer") is not None else ""), _doc(v))
              for v in member.findall("enumvalue")]
    name = prefix + member.findtext("name")
    return Declaration(kind, name, header, line, end, _signature(member, kind), _doc(member), group, values=values,
                       specializes="<" in member.findtext("name").replace("operator<", ""))


def _is_public(member):
    kind, name = member.get("kind"), member.findtext("name")
    if member.get("prot") not in ("public", "protected") or kind == "friend" or name.startswith("@"):
        return False
    return member.get("prot") == "public" and "=delete" not in (member.findtext("argsstring") or "").replace(" ", "")


def _members_of(compound, prefix):
    for section in compound.findall("sectiondef"):
        group = re.sub(r"</?tt>", "`", (section.findtext("header") or "").strip())
        for member in section.findall("memberdef"):
            if _is_public(member):
                yield _member(member, prefix, group)


def _class(compound, name):
    header, line, end = _place(compound)
    kind = compound.get("kind")
    bases = [("" if kind == "struct" else "public ") + _tidy(b.text).removeprefix("imbrex::")
             for b in compound.findall("basecompoundref") if b.get("prot") == "public" and "detail" not in b.text]
    signature = f"{_template(compound)}{kind} {_tidy(name)}" + (" : " + ", ".join(bases) if bases else "") + ";"
    members = sorted(_members_of(compound, ""), key=lambda m: m.line)
    return Declaration("class", name, header, line, end, signature, _doc(compound), members=members, specializes="<" in name)


def read_xml(folder, prefix):
    """All that is in no namespace `detail`."""
    found = []
    for file in sorted(pathlib.Path(folder).glob("*.xml")):
        for compound in ElementTree.parse(file).getroot().findall("compounddef"):
            kind, name = compound.get("kind"), compound.findtext("compoundname")
            if "detail" in name.split("::") or "@" in name:
                continue
            name = name.removeprefix("imbrex").removeprefix("::")
            if kind in ("class", "struct", "union") and compound.get("prot") == "public":
                found.append(_class(compound, name))
            elif kind == "namespace":
                found += _members_of(compound, name + "::" if name else "")
            elif kind == "file":
                found += [m for m in _members_of(compound, "") if m.kind == "define"]
    for d in found:
        d.header = d.header if d.header.startswith(prefix) else prefix + d.header
    unique = {(d.header, d.line, d.name, d.signature): d for d in found}
    return sorted(unique.values(), key=lambda d: (d.header, d.line))


def share_docs(declarations, lines):
    """A comment holds for what follows without an empty line, if that has none of its own."""
    before = None
    for d in declarations:
        if (not d.doc and before is not None and before.doc and d.kind == before.kind and d.kind in ("function", "typedef")
                and all(text.strip() for text in lines[before.end:d.line - 1])):
            d.doc, d.group = before.doc, before.group
        before = d


def read_headers(source):
    """`source`: the folder that has `imbrex/`. Needs `find_doxygen()`."""
    source = pathlib.Path(source).resolve()
    with tempfile.TemporaryDirectory() as out:
        text = _DOXYFILE.format(source=source, out=out)
        subprocess.run([find_doxygen(), "-"], input=text, text=True, check=True, cwd=out, stdout=subprocess.DEVNULL)
        found = read_xml(pathlib.Path(out) / "xml", "imbrex/")
    for header in {d.header for d in found}:
        lines = (source / header).read_text(encoding="utf-8").splitlines()
        here = [d for d in found if d.header == header]
        share_docs([d for d in here if d.kind != "class"], lines)
        for c in here:
            share_docs(c.members, lines)
    return found
