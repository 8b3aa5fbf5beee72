"""What a program takes on a machine that is simulated: imbrex predict --help."""

import argparse
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from prediction import Prediction, PredictError, is_jacobi, machine_facts, predict  # noqa: E402

ABOUT = """Runs a program in virtual time on machines of several sizes, and tells which of its settings is the fastest on
each, how sure that is, and where the time goes. The program is run here, so what is not in its time (its own
computing on the processors, unless it says so by imbrex::spend) is not predicted: see docs/virtual-time.md."""
EXAMPLES = """  imbrex predict jacobi3d --machine summit --gpus 48,96,192,384 -x 3072
  imbrex predict jacobi3d --machine ./mine.toml --gpus 8 --odf 1,2,4,8 --fusion none,C -x 768
  imbrex predict ./my_program --machine h200-x4 --gpus 1,2,4 -- --size 1000

jacobi3d is told its factors, fusions and numbers of iterations; of any other program the whole run is timed."""


def numbers(text):
    try:
        values = [int(w) for w in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': give whole numbers from 1 on, with commas between them")
    return values


def arguments():
    parser = argparse.ArgumentParser(prog="imbrex predict", formatter_class=argparse.RawDescriptionHelpFormatter, description=ABOUT,
                                     epilog=EXAMPLES)
    parser.add_argument("program", help="a program of imbrex, or a path; options that are not known here are its own")
    parser.add_argument("--machine", required=True, help="a name (imbrex machines lists them) or a file that describes one")
    parser.add_argument("--gpus", required=True, type=numbers, help="so many, a rank each: 48,96,192")
    parser.add_argument("--odf", type=numbers, help="jacobi3d: chares for each GPU (default: 1,2,4)")
    parser.add_argument("--fusion", help="jacobi3d: strategies (default: none,C)")
    parser.add_argument("--seeds", type=int, default=3, help="runs with other noise, for the interval (default: 3)")
    parser.add_argument("--iterations", type=int, help="jacobi3d: that are timed (default: 10)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there, too")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one run (default: 1800)")
    parser.add_argument("--bin", help="folder of the programs (default: that of imbrex)")
    words = sys.argv[1:]
    own = words[words.index("--") + 1:] if "--" in words else []
    known, rest = parser.parse_known_args(words[:words.index("--")] if "--" in words else words)
    known.options = rest + own
    for name, usual in (("odf", [1, 2, 4]), ("fusion", "none,C"), ("iterations", 10)):
        if getattr(known, name) is None:
            setattr(known, name, usual)
        elif not is_jacobi(known.program):
            parser.error(f"--{name} is for jacobi3d: what is {known.program}'s own stands behind --, as in: -- --{name} ...")
    if known.seeds < 1 or known.iterations < 2:
        parser.error("--seeds is at least 1, and --iterations at least 2")
    return known


def check_place(file):
    """Before hours of runs: a file can be written there. One that is there stays as it is."""
    path = pathlib.Path(file)
    was_there = path.exists()
    if path.is_dir():
        raise PredictError(f"--json {file}: it is a folder: give a file")
    if was_there and not path.is_file():
        return  # a pipe: opening it would wait for a reader
    try:
        path.open("a", encoding="utf-8").close()
    except OSError as e:
        raise PredictError(f"--json {file} cannot be written: {e.strerror}: give a file in a folder that is there") from None
    if not was_there:
        path.unlink()


def show(found: list[Prediction], facts):
    print(f"{facts['name']}: {facts['description']}")
    head = f"{'GPUs':>7} {'best':<16} {'time':>11} {'between':>19} {'speed-up':>9}   GPUs busy; PEs: launching, messages, other, idle"
    print(head)
    first = found[0].best
    for p in found:
        b = p.best
        between = f"{b.low:.1f} .. {b.high:.1f}"
        print(f"{p.gpus:>7} {b.name:<16} {b.us:>8.1f} us {between:>19} {first.us / b.us:>9.2f}   {100 * b.share('gpu'):.0f} %; "
              f"{100 * b.share('launch'):.0f} %, {100 * b.share('message'):.0f} %, {100 * b.share('other'):.0f} %, {100 * b.share('idle'):.0f} %"
              + (f"; the busiest GPU {b.imbalance:.2f} of the mean" if b.imbalance > 1.02 else ""))


def main():
    o = arguments()
    if o.json:
        check_place(o.json)
    bin_folder = pathlib.Path(o.bin) if o.bin else pathlib.Path(sys.argv[0]).resolve().parent
    facts = machine_facts(bin_folder, o.machine)
    found = predict(o, bin_folder, facts)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps({"machine": facts, "predictions": [p.to_json() for p in found]}, indent=1) + "\n")
    show(found, facts)
    sys.stdout.flush()
    return 0


def failed(what, code):
    print(f"imbrex predict: {what}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what it still holds would fail again
    return code


def end_by(number, _):
    sys.exit(128 + number)  # temporary files go, and the program that is waited for


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end_by)
    try:
        sys.exit(main())
    except PredictError as e:
        sys.exit(failed(e, 2))
    except OSError as e:
        sys.exit(failed(f"{e.filename or 'standard output'}: {e.strerror}", 2 if e.filename else 1))
    except KeyboardInterrupt:
        sys.exit(130)
