"""tools/reference OUT: the reference as pages for MyST, from the doc comments of public headers. Needs Doxygen; without it
there is one page that says so, and exit code 77."""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import declarations  # noqa: E402
import page  # noqa: E402
import topics  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ABSENT = ("# Reference\n\nThis chapter is made of the comments in the headers, by Doxygen, which was not found where these pages "
          "were made: `apt install doxygen` (or `scripts/setup test`), then `make guide`.\n")


def reached(doors):
    """Headers that these include, and so on."""
    sys.path.insert(0, str(ROOT / "tests" / "checks"))
    import public_headers

    def read(name):
        return (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).is_file() else None

    return public_headers.reached(doors, read)


def write(out):
    found = declarations.read_headers(ROOT / "src")
    links = page.Links(found)
    for topic in topics.TOPICS:
        for _, here in page.chosen(topic, found):
            for name in here:
                links.add(name, topic.page)
    umbrella = reached(["imbrex/imbrex.h"])
    for topic in topics.TOPICS:
        (out / f"{topic.page}.md").write_text(page.topic_page(topic, found, links, umbrella), encoding="utf-8")
    (out / "index.md").write_text(page.index_page(topics.TOPICS, links.places), encoding="utf-8")
    print(f"reference: {len(links.places)} names in {len(topics.TOPICS)} pages")


def main():
    parser = argparse.ArgumentParser(prog="tools/reference", description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    if declarations.find_doxygen() is None:
        (out / "index.md").write_text(ABSENT, encoding="utf-8")
        return 77
    write(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
