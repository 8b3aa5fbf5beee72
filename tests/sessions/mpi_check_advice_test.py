"""What `imbrex mpi-check` advises, its web page, programs into which the library cannot be loaded, and the
figures' rounds.
Usage: mpi_check_advice_test.py --tool ... (see CMakeLists.txt)"""

import json
import pathlib
import shlex
import subprocess
import sys
import xml.etree.ElementTree

from mpi_check_test import check, equal, main


def standin(c, name, *arguments):
    return ["--", c.args.mpirun, "-n", "2", f"{c.args.standins}/sessions_{name}_{c.args.mpi}", *arguments]


def close(found, expected, what):
    check(abs(found - expected) <= 1e-6 * abs(expected), f"{what}: {found!r} instead of {expected!r}")


def test_advice(c):
    """Each program gets the advice that it deserves, with its numbers, and following it returns what was said."""
    small = standin(c, "neighbours27", "--size", "5", "--steps", "100")
    asks = {"driver": True, "aware": True, "FAKE_CUDA_DELAY_NS": "50000"}  # so that a busy machine does not drown it

    results, done = c.results("--repeats", "1", *small, **asks)
    advice, total = results["advice"], results["total"]
    equal((advice["verdict"], advice["by_mpi"]), ("elide", True), "an MPI that asks about host memory")
    calls = sum(r["calls"] for r in results["routines"] if r["own_queries"] > 0)
    run_s = results["ranks"] * results["variants"][0]["seconds"]["median"]
    close(advice["asking_calls_percent"], 100 * calls / total["calls"], "calls that ask")
    close(advice["queries_per_call"], total["own_queries"] / calls, "queries a call")
    close(advice["query_ns"], 1e9 * total["own_query_s"] / total["own_queries"], "time of a query")
    close(advice["lost_percent"], 100 * total["own_query_s"] / run_s, "part of the run")
    close(advice["gain_percent"], 100 * (total["own_query_s"] - 10e-9 * total["own_queries"]) / run_s, "gain")
    close(advice["gain_us_per_call"], 1e6 * advice["gain_percent"] / 100 * run_s / calls, "gain a call")
    check(f"what to do: {advice['headline']}" in done.stdout, done.stdout)
    equal([k["memory"] for k in advice["kinds"]], ["host"], "kinds of memory")
    check(advice["kinds"][0]["query_ns"] >= 50000, f"cost by kind: {advice['kinds']}")

    # It unloads a module, so that the library cannot know all memory; but its communicators have host memory alone.
    results, done = c.results("--repeats", "1", *small, **asks, AWARE_UNLOADS="1")
    advice = results["advice"]
    equal((advice["verdict"], advice["common_pattern"]), ("declare", "MPI_CPU_TO_CPU"), "memory that nobody knows")
    check(advice["elide_percent"] < 0.2 * advice["declare_percent"], f"eliding alone: {advice}")
    check("cuModuleUnload" in advice["because"], f"why: {advice['because']}")
    check("IMBREX_SESSIONS_PATTERN=MPI_CPU_TO_CPU" in done.stdout, done.stdout)
    results, _ = c.results("--repeats", "1", "--pattern", advice["common_pattern"], *small, **asks, AWARE_UNLOADS="1")
    elided = json.loads((c.folder / "results" / "runs" / "1-own-elided.json").read_text())["total"]
    equal((elided["declared"], elided["driver"]), (elided["queries"], 0), "queries of a run that was declared")
    equal(results["advice"]["verdict"], "declare", "the advice stays with a pattern")

    results, done = c.results("--repeats", "1", "--delay-ns", "10",
                              *standin(c, "neighbours27", "--size", "20", "--steps", "3", "--work", "50"))
    advice = results["advice"]
    equal((advice["verdict"], advice["by_mpi"]), ("nothing", False), "a program that computes")
    check(0 < advice["lost_percent"] < 0.1 and "under 0.1 %" in done.stdout, advice["headline"])


def test_page(c):
    """One file, well-formed, which loads nothing from elsewhere; its numbers are the JSON's."""
    page_file = c.folder / "<report> & page.html"
    results, done = c.results("--repeats", "2", "--html", str(page_file), *c.job("kinds_job"), driver=True,
                              FAKE_CUDA_DELAY_NS="20000")
    # Where both kinds travel on one communicator, no pattern fits it; others get theirs.
    patterns = {p["where"]: (p["pattern"], p["declared"]) for p in results["advice"]["places"]}
    equal(patterns, {"halo": ("MPI_GPU_TO_GPU", None), "mixed": (None, None), "windows": ("MPI_CPU_TO_CPU", None),
                     "MPI_COMM_WORLD": ("MPI_CPU_TO_CPU", None), "output": ("MPI_CPU_TO_CPU", "MPI_CPU_TO_CPU")},
          "patterns")
    equal(results["advice"]["common_pattern"], None, "a pattern for all")
    check(str(page_file) in done.stdout, "the page is named")
    text = page_file.read_text()
    for outside in ("src=", "href=", "<script", "url(", "@import"):
        check(outside not in text, f"{outside} in the page")
    page = xml.etree.ElementTree.fromstring(text)
    by_id = {e.get("id"): e for e in page.iter() if e.get("id")}

    def rows(table):
        for row in list(by_id[table])[1:]:
            yield ([cell.text or "" for cell in row if cell.get("class") != "n"],
                   [float(cell.get("data-value")) for cell in row if cell.get("class") == "n"])

    equal(by_id["advice"].get("data-verdict"), results["advice"]["verdict"], "verdict")
    check(results["advice"]["headline"] in "".join(by_id["advice"].itertext()), "the advice in words")
    shown = ("calls", "checks", "checks_per_s", "bytes_sent", "bytes_received", "own_queries")
    equal([(names, figures[:6]) for names, figures in rows("routines")],
          [([r["name"]], [r[k] for k in shown]) for r in results["routines"] + [results["total"]]], "routines")
    equal([(names[:4], figures[:2]) for names, figures in rows("buffers")],
          [([b["where"], b["declared"] or "", b["direction"], b["memory"]], [b["checks"], b["bytes"]])
           for b in results["buffers"]], "buffers")
    equal([(names, figures[:2]) for names, figures in rows("per_rank")],
          [([str(r["rank"]), r["host"]], [r["seconds"], r["checks"]]) for r in results["per_rank"]], "ranks")
    cells = {(int(e.get("data-rank")), e.get("data-routine")): (float(e.get("data-value")), float(e.get("fill-opacity")))
             for e in by_id["ranks"].iter() if e.get("class") == "cell"}
    expected = {(r["rank"], x["name"]): x["checks"] for r in results["per_rank"] for x in r["routines"]}
    equal({key: value for key, (value, _) in cells.items()}, expected, "heat map")
    most = max(expected.values())
    for key, (value, opacity) in cells.items():
        check(abs(opacity - value / most) < 1e-3, f"darkness of {key}")
    equal(len([e for e in page.iter("{http://www.w3.org/2000/svg}svg")]) > 0, True, "pictures")


def test_unreachable(c):
    """Programs into which the library cannot be loaded are named with what to type; scripts are passed through."""
    library = pathlib.Path(c.args.tool).parent.parent / "lib"
    for program, what in ((c.args.static, "is linked statically"), (c.args.half_static, "has its MPI inside")):
        if program is None:
            print("not tried: a static program, since this compiler links none")
            continue
        done = c.run("--", program)
        equal(done.returncode, 2, done.stderr)
        check(f"{program} {what}" in done.stderr, done.stderr)
        check(f"-L{library} -Wl,-rpath,{library} -limbrex_sessions" in done.stderr, done.stderr)
        # In a script it is known only when no report came.
        script = c.folder / "wrapper.sh"
        script.write_text(f"#!/bin/sh\nset -e\nexec {program} \"$@\"\n")
        script.chmod(0o755)
        for words in ([str(script)], ["sh", "-c", f"{program} && true"]):
            done = c.run("--", *words)
            equal(done.returncode, 2, done.stderr)
            check("left no report" in done.stderr and f"{program} {what}" in done.stderr, done.stderr)
    script = c.folder / "passes.sh"
    script.write_text(f"#!/bin/sh\ncd /\nexec {standin(c, 'halo2d')[-1]} \"$@\"\n")
    script.chmod(0o755)
    results, _ = c.results("--repeats", "1", "--delay-ns", "0", "--", c.args.mpirun, "-n", "2", str(script), "--nx", "8",
                           "--ny", "8", "--steps", "2")
    check("MPI_Isend" in [r["name"] for r in results["routines"]], "routines of a program in a script")


def test_one_round(c):
    """sessions/bench/standin.py, which the figures call: three runs, of which the checks of one are elided in another."""
    script = pathlib.Path(__file__).resolve().parents[2] / "sessions/bench/standin.py"
    library = pathlib.Path(c.args.tool).parent.parent / "lib/libimbrex_sessions.so"
    program = shlex.join(standin(c, "halo2d", "--nx", "8", "--ny", "8", "--steps", "20")[4:])

    def round_of(*words):
        return subprocess.run([sys.executable, "-B", str(script), "--library", str(library), "--mpirun", c.args.mpirun, "--ranks",
                               "2", "--json", str(c.folder / "round.json"), *words], capture_output=True, text=True, timeout=100)

    done = round_of("--delay-ns", "3000", "--turn", "2", "--program", program)
    equal(done.returncode, 0, done.stderr)
    result = json.loads((c.folder / "round.json").read_text())
    equal((result["order"], result["ranks"], result["left_to_driver"]), (["elided", "plain", "injected"], 2, 0), "runs")
    # Ranks of halo2d exchange one border a step; reductions: a time step each and one more, sums at 10, 20, and the result's.
    checks = 2 * 2 * 20 + 2 * 2 * (20 + 1) + 3 * (2 + 1)
    equal(result["checks"], checks, "checks")
    close(result["ratio"]["injected"], result["seconds"]["injected"] / result["seconds"]["plain"], "ratio")
    close(result["checks_per_s"], checks / result["seconds"]["plain"], "intensity")
    check(result["query_ns"] >= 2900, f"time of a check: {result['query_ns']}")
    done = round_of("--program", program)
    check(done.returncode == 1 and "no driver to ask: give --delay-ns" in done.stderr, f"without a driver: {done.stderr}")
    done = round_of("--delay-ns", "1", "--program", "false")
    check(done.returncode == 1 and "exit code" in done.stderr, f"a program that fails: {done.stderr}")


if __name__ == "__main__":
    main((test_advice, test_page, test_unreachable, test_one_round), __doc__, "--standins", "--mpi", "--static", "--half-static")
