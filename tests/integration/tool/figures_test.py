#!/usr/bin/env python3
"""imbrex figures: what it measures, keeps, draws and compares, and the numbers behind that.

  figures_test.py --tool build/default/bin/imbrex --figures tools/figures
"""
import argparse
import collections
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

parser = argparse.ArgumentParser()
parser.add_argument("--tool", required=True)
parser.add_argument("--figures", required=True)
given, rest = parser.parse_known_args()
sys.path.insert(0, given.figures)

import compare  # noqa: E402
import jacobi_figures  # noqa: E402
import model  # noqa: E402
import other_figures  # noqa: E402
import session_figures  # noqa: E402
import setting  # noqa: E402
import summary  # noqa: E402
from measure import Results, measure, text_of  # noqa: E402

ALL = jacobi_figures.FIGURES | other_figures.FIGURES | session_figures.FIGURES


def imbrex(*words):
    return subprocess.run([given.tool, "figures", *words], capture_output=True, text=True, timeout=300, check=False)


class Numbers(unittest.TestCase):
    def test_interval_has_the_median_as_often_as_it_says(self):
        self.assertEqual(summary.interval([5, 1, 4, 2, 3]), (1, 5))
        self.assertEqual(summary.interval(range(1, 10)), (2, 8))  # of 9 values: 1 - 2 * (1 + 9) / 512 = 0.961
        self.assertEqual(summary.interval([7]), (7, 7))

    def test_difference_is_that_of_all_orders(self):
        for n, m in ((1, 1), (2, 3), (3, 3), (4, 3)):
            values = list(range(n + m))
            for which in itertools.combinations(values, n):
                a, b = list(which), [v for v in values if v not in which]

                def pairs(a, b):
                    return sum(x > y for x in a for y in b)

                far = abs(pairs(a, b) - n * m / 2)
                others = [abs(pairs(c, [v for v in values if v not in c]) - n * m / 2) for c in itertools.combinations(values, n)]
                expected = sum(o >= far for o in others) / len(others)
                self.assertAlmostEqual(summary.p_of_difference(a, b), expected)

    def test_gains(self):
        medians = {("p", "slow", 1): 12.0, ("p", "fast", 1): 10.0, ("p", "slow", 2): 30.0, ("p", "fast", 2): 20.0}
        self.assertAlmostEqual(model.gain(("p", "slow", 1), ("p", "fast", 1))(medians), 20)
        self.assertAlmostEqual(model.best_gain("p", "slow", "fast", [1, 2, 3])(medians), 50)
        self.assertIsNone(model.gain(("p", "slow", 9), ("p", "fast", 9))(medians))


class Catalogue(unittest.TestCase):
    def settings(self):
        for gpus, cores, quick, mpirun in itertools.product((0, 1, 4), (1, 6), (True, False), ((), ("mpirun", "-n"))):
            yield setting.Setting(pathlib.Path("/bin"), gpus, cores, quick, mpirun, 80 << 30 if gpus else 0)

    def test_points_are_told_apart_and_claims_are_about_them(self):
        for s in self.settings():
            for name, make in ALL.items():
                f = make(s)
                self.assertEqual(f.name, name)
                places = collections.Counter((panel.title, p.series, p.x) for panel in f.panels for p in panel.points)
                self.assertTrue(places, name)
                self.assertEqual([k for k, n in places.items() if n > 1], [], name)
                whole = {k: 1.0 + i for i, k in enumerate(places)}
                for claim in f.claims:
                    if s.units > 1:
                        self.assertIsNotNone(claim.here(whole), f"{name}: {claim.text} is about no point")
                    self.assertIsNone(claim.here({}))

    def test_what_cannot_be_measured_says_why(self):
        no_gpu = setting.Setting(pathlib.Path("/bin"), 0, 2, True, ())
        self.assertEqual({p.needs for panel in ALL["c22-fig8"](no_gpu).panels for p in panel.points}, {"no GPU can be used here"})
        self.assertIn("no mpirun is here: give one by --mpirun",
                      {p.needs for panel in ALL["c22-fig7"](no_gpu).panels for p in panel.points})


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def figure(self, script):
        """Of one point, whose value is what a shell script writes."""
        command = ("sh", "-c", script + '\nfor last; do :; done\necho "{\\"value\\": $v}" > "$last"', "x")
        points = [model.Point("s", 1, command, lambda report: report["value"])]
        return model.Figure("f", "t", "p", "", [model.Panel("panel", "x", "y", points)])

    def test_are_kept_and_go_on_after_a_torn_line(self):
        counter = self.path / "counter"
        f = self.figure(f'echo x >> {counter}; v=$(wc -l < {counter})')
        results = Results(self.path / "runs.jsonl")
        measure([f], results, 2, 10, say=lambda text: None)
        self.assertEqual(results.outcome(f.panels[0].points[0], 2).values, [1, 2])
        with (self.path / "runs.jsonl").open("a", encoding="utf-8") as kept:
            kept.write('{"command": "sh -c')
        again = Results(self.path / "runs.jsonl")
        measure([f], again, 3, 10, say=lambda text: None)
        self.assertEqual(again.outcome(f.panels[0].points[0], 3).values, [1, 2, 3])

    def test_that_fail_say_why_and_are_not_tried_again(self):
        counter = self.path / "counter"
        f = self.figure(f'echo x >> {counter}; echo "no such thing" >&2; exit 3')
        results = Results(self.path / "runs.jsonl")
        measure([f], results, 3, 10, say=lambda text: None)
        self.assertEqual(results.outcome(f.panels[0].points[0], 3).error, "exit code 3: no such thing")
        self.assertEqual(len(counter.read_text().splitlines()), 1)
        slow = self.figure("sleep 20")
        measure([slow], results, 1, 0.2, say=lambda text: None)
        self.assertIn("took more than", results.outcome(slow.panels[0].points[0], 1).error)

    def test_differences_are_more_than_chance(self):
        key = ("f", "p", "s", 1)
        for before, after, told in (([10, 11, 12, 13, 14], [20, 21, 22, 23, 24], True), ([10, 12, 14, 16, 18], [11, 13, 15, 17, 19], False),
                                    ([10, 10.1], [12, 12.1], True), ([10], [12], False)):
            lines, same, _ = compare.differences({key: (before, True)}, {key: (after, True)})
            self.assertEqual(len(lines), int(told), (before, after))
            self.assertEqual(same, int(not told))
        lines, _, _ = compare.differences({key: (list(range(10, 15)), False)}, {key: (list(range(20, 25)), False)})
        self.assertIn("better", lines[0])

    def test_that_did_something_else_do_not_count(self):
        gpu = setting.Setting(pathlib.Path("/bin"), 2, 2, True, ("mpirun", "-n"))
        point = next(p for panel in ALL["c22-fig7"](gpu).panels for p in panel.points if p.series == "MPI-D")
        results = Results(self.path / "runs.jsonl")
        for repetition, way in enumerate(("host", "device")):
            results.add(text_of(point.command), repetition, {"gpu_strategy": f"fusion B, comm {way}", "time_per_iteration_us": {"median": 7}}, "", 1)
        self.assertIn("this MPI takes no GPU memory", results.outcome(point, 1).error)
        self.assertEqual(results.outcome(point, 2).values, [7])

    def test_programs_are_kept_without_their_folders(self):
        self.assertEqual(text_of(("mpirun", "-n", "2", "/a/b/jacobi3d", "-x", "8")), "mpirun -n 2 jacobi3d -x 8")


class Command(unittest.TestCase):
    def test_measures_keeps_draws_and_compares(self):
        with tempfile.TemporaryDirectory() as folder:
            common = ("--quick", "--gpus", "0", "--cores", "1", "--repetitions", "1", "--output", folder)
            done = imbrex("c20-fig5", *common)
            self.assertEqual(done.returncode, 0, done.stderr)
            kept = json.loads((pathlib.Path(folder) / "figures.json").read_text())
            self.assertEqual([p["x"] for p in kept["points"]], [1, 2, 4, 8])
            self.assertTrue(all(p["values"][0] > 0 for p in kept["points"]))
            page = (pathlib.Path(folder) / "index.html").read_text()
            self.assertIn("c20-fig5", page)
            self.assertNotIn("src=", page)
            # As the tool's python3 has it, which may be another one than this.
            if subprocess.run(["python3", "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
                self.assertIn("<svg", page)
                self.assertTrue((pathlib.Path(folder) / "c20-fig5.svg").exists())
            else:
                self.assertIn("matplotlib is missing", page)
            runs = (pathlib.Path(folder) / "runs.jsonl").read_text()
            self.assertEqual(imbrex("c20-fig5", *common).returncode, 0)
            self.assertEqual((pathlib.Path(folder) / "runs.jsonl").read_text(), runs, "it was measured again")
            (pathlib.Path(folder) / "index.html").unlink()
            self.assertEqual(imbrex("c20-fig5", "--redraw", "--output", folder).returncode, 0)
            self.assertIn("c20-fig5", (pathlib.Path(folder) / "index.html").read_text())
            same = imbrex("diff", folder, folder)
            self.assertIn("nothing differs", same.stdout)

    def test_lists_and_refuses(self):
        listed = imbrex("--list", "--gpus", "0")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual([line.split()[0] for line in listed.stdout.splitlines()], sorted(ALL))
        for words, text in ((("c20-fig99",), "there is no figure 'c20-fig99'"), ((), "name some figures"), (("diff", "/nowhere", "/there"), "/nowhere"),
                            (("c20-fig5", "--gpus", "77"), "--gpus 77: this machine has"), (("c20-fig5", "--cores", "9999"), "--cores 9999"), (("c20-fig5", "--cores", "0"), "--cores 0 is too small"),
                            (("c20-fig5", "--machine", "summit", "--beside", "h200-x4"), "leave one of them out")):
            refused = imbrex(*words)
            self.assertEqual(refused.returncode, 2, words)
            self.assertIn(text, refused.stderr)
        with tempfile.NamedTemporaryFile() as file:
            refused = imbrex("c20-fig5", "--quick", "--gpus", "0", "--output", f"{file.name}/figures")
            self.assertEqual(refused.returncode, 2)
            self.assertEqual(refused.stderr, f"imbrex figures: {file.name}/figures cannot be written: Not a directory; --output names another folder\n")
        self.assertIn("#SBATCH", imbrex("c22-fig7", "--slurm", "--gpus", "4").stdout)


unittest.main(argv=[sys.argv[0], *rest])
