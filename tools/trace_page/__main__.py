"""A trace as a page or a drawing, or its tasks as a graph: imbrex trace page --help, imbrex trace draw --help, imbrex trace dot
--help."""

import argparse
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import events  # noqa: E402
import page  # noqa: E402
import tasks  # noqa: E402
import timeline  # noqa: E402


def write(name, text):
    try:
        pathlib.Path(name).write_text(text, encoding="utf-8")
    except OSError as e:
        raise events.TraceError(f"{name} cannot be written: {e.strerror}") from e


def make_page(o):
    if len(o.traces) > 2:
        raise events.TraceError(f"{len(o.traces)} traces: one, or two that are compared")
    if o.bins < 1:
        raise events.TraceError(f"--bins {o.bins}: at least one")
    write(o.output, page.page([(pathlib.Path(t).name, events.read(t)) for t in o.traces], o.bins))
    print(f"{o.output} shows {' and '.join(o.traces)}")


def make_drawing(o):
    for name, value, least in (("--most", o.most, 1), ("--width", o.width, 400), ("--from", o.from_ms, 0)):
        if not value >= least:
            raise events.TraceError(f"{name} {value:g}: at least {least}")
    trace = events.read(o.trace)
    end = trace.length if o.to_ms is None else min(o.to_ms * 1e3, trace.length)
    text = timeline.draw(trace, o.from_ms * 1e3, end, timeline.tracks_named(trace, o.lines, o.most), o.width, not o.no_messages)
    write(o.output, text)
    print(f"{o.output} shows {o.from_ms:g} to {end / 1e3:g} ms of {o.trace}")


def make_dot(o):
    if o.most < 1:
        raise events.TraceError(f"--most {o.most}: at least one")
    trace = events.read(o.trace)
    if not trace.tasks:
        raise events.TraceError(f"{o.trace} has no tasks: was the program traced by --imbrex-trace, and does it submit any?")
    text = tasks.dot(trace, o.most)
    if o.output == "-":
        print(text, end="")
        return
    write(o.output, text)
    print(f"{o.output} has {min(o.most, len(trace.tasks))} tasks of {o.trace}: dot -Tsvg {o.output} -o tasks.svg draws them")


def main():
    parser = argparse.ArgumentParser(prog="imbrex trace")
    parser.add_argument("--bin", help=argparse.SUPPRESS)
    what = parser.add_subparsers(required=True)
    p = what.add_parser("page", description="Draws a trace of --imbrex-trace as one page of HTML: where time goes on each PE and stream, what communication "
                                            "is hidden, who is waited for, grain sizes, messages, the critical path, and tasks. Two traces are set side by side.")
    p.add_argument("traces", nargs="+", metavar="FILE", help="the trace, or two")
    p.add_argument("--output", default="trace.html", help="default: %(default)s")
    p.add_argument("--bins", type=int, default=200, help="parts of the run in pictures (default: %(default)s)")
    p.set_defaults(make=make_page)
    d = what.add_parser("dot", description="Writes the tasks of a trace, and what each waited for or whose data it read, as a graph for Graphviz. The longest "
                                           "chain of tasks is drawn thick.")
    d.add_argument("trace", metavar="FILE")
    d.add_argument("--output", default="-", help="a file (default: what is printed)")
    d.add_argument("--most", type=int, default=500, help="so many tasks, the first (default: %(default)s)")
    d.set_defaults(make=make_dot)
    t = what.add_parser("draw", description="Draws a part of a trace as a time line (SVG): a line for each PE and stream, what runs there, and messages "
                                            "between them. Zoom by --from and --to.")
    t.add_argument("trace", metavar="FILE")
    t.add_argument("--output", default="trace.svg", help="default: %(default)s")
    t.add_argument("--from", dest="from_ms", type=float, default=0, metavar="MS", help="from the first event (default: %(default)s)")
    t.add_argument("--to", dest="to_ms", type=float, metavar="MS", help="default: to the end")
    t.add_argument("--lines", nargs="+", default=[], metavar="WORD", help="those whose name has one of these words (default: all)")
    t.add_argument("--most", type=int, default=32, help="so many lines (default: %(default)s)")
    t.add_argument("--width", type=int, default=960, help="pixels (default: %(default)s)")
    t.add_argument("--no-messages", action="store_true", help="without messages")
    t.set_defaults(make=make_drawing)
    o = parser.parse_args()
    o.make(o)
    sys.stdout.flush()
    return 0


def failed(what, code):
    print(f"imbrex trace: {what}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what it still holds would fail again
    return code


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
try:
    sys.exit(main())
except events.TraceError as e:
    sys.exit(failed(e, 2))
except OSError as e:
    sys.exit(failed(f"standard output: {e.strerror}", 1))
