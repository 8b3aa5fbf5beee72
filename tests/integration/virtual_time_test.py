"""Runs in virtual time from the command line: jacobi3d on simulated machines, beside the same program in real time; `imbrex machines`; `imbrex
predict`; `imbrex figures --machine`."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

given = argparse.Namespace()


def run(*words, timeout=200, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=timeout, check=False, **more)


def numbers(text):
    """{(part, key): number} of a description of a machine."""
    found, part = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            part = line.strip("[]")
        elif found_one := re.match(r"(\w+) = ([-+.0-9e]+)\b", line):
            found[part, found_one[1]] = float(found_one[2])
    return found


class Virtual(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)

    def jacobi(self, *words):
        report = self.at / "jacobi.json"
        done = run(given.bin / "jacobi3d", "--quiet", "--repeats", "1", "--report", report, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(report.read_text())

    def machine(self, *words):
        report = self.at / "machine.json"
        jacobi = self.jacobi(f"--imbrex-machine-report={report}", *words)
        return jacobi, json.loads(report.read_text())


class Same(Virtual):
    """The same program does the same in virtual and in real time."""

    problem = ("--device", "host", "-x", "40", "-y", "32", "-z", "24", "-i", "12", "-w", "2", "--odf", "2", "--pes", "2")

    def messages(self, *words):
        trace = self.at / "trace.json"
        result = self.jacobi("--trace", trace, *self.problem, *words)
        summary = run(given.bin / "imbrex", "trace", "summary", trace, "--json")
        self.assertEqual(summary.returncode, 0, summary.stderr)
        return result["field_hash"], json.loads(summary.stdout)

    def test_results_messages_and_bytes(self):
        real, there = self.messages("--imbrex-transport=loopback", "--imbrex-ranks=4")
        virtual, here = self.messages("--imbrex-machine=h200-x4", "--imbrex-nodes=2", "--imbrex-ranks-per-node=2")
        self.assertEqual(real, virtual)

        self.assertGreater(there["messages"]["other_rank"]["count"], 300)
        for reach in ("same_pe", "other_pe", "other_rank"):
            for what in ("count", "bytes"):
                a, b = there["messages"][reach][what], here["messages"][reach][what]
                # How often it is asked whether all is quiet, at the end, is a matter of time.
                self.assertLess(abs(a - b), 0.02 * a + 100, f"{what} of messages to {reach}: {a} in real time, {b} in virtual time")

    def test_the_result_does_not_depend_on_the_machine(self):
        hashes = {self.jacobi(*self.problem, f"--imbrex-machine={m}", f"--imbrex-nodes={n}", "--imbrex-machine-seed=3")["field_hash"]
                  for m, n in (("summit", 1), ("romeo", 5), ("dgx-h200", 3))}
        hashes.add(self.jacobi(*self.problem)["field_hash"])
        self.assertEqual(len(hashes), 1)


class OnGpus(Virtual):
    """A build with CUDA is needed, but no GPU."""

    def setUp(self):
        super().setUp()
        if not given.cuda:
            self.skipTest("this build has no CUDA")

    def test_the_same_seed_is_the_same_run(self):
        problem = ("--device", "cuda", "-x", "192", "-i", "10", "--odf", "4", "--fusion", "none", "--imbrex-machine=summit", "--imbrex-nodes=4")
        first, machine = self.machine(*problem)
        again, other = self.machine(*problem)
        for report in (machine, other):
            del report["took_seconds"]
        self.assertEqual(machine, other)
        self.assertEqual(first["time_per_iteration_us"], again["time_per_iteration_us"])
        noisy, _ = self.machine(*problem, "--imbrex-machine-seed=2")
        self.assertNotEqual(first["time_per_iteration_us"], noisy["time_per_iteration_us"])

    def test_what_is_measured_on_a_gpu_is_predicted(self):
        """h200-x4 is described by what one and two GPUs did; bench/results/gpus/2026-11-21-h200-x2.md and shared figures of four."""
        for grid, ranks, measured in ((768, 1, 1837), (768, 4, 477), (1536, 4, 3747), (192, 1, 31.1)):
            us = self.jacobi("--device", "cuda", "--imbrex-machine=h200-x4", f"--imbrex-ranks={ranks}", "-x", str(grid), "-i", "20", "--odf", "1",
                             "--fusion", "C")["time_per_iteration_us"]["median"]
            self.assertLess(abs(us / measured - 1), 0.15, f"{grid}^3 on {ranks}: {us} us")

    def test_grids_without_bytes_take_little(self):
        jacobi, machine = self.machine("--device", "cuda", "-x", "1536", "-i", "5", "-w", "1", "--odf", "4", "--imbrex-machine=summit", "--imbrex-nodes=32")
        self.assertEqual(machine["ranks"], 192)
        self.assertGreater(jacobi["time_per_iteration_us"]["median"], 100)
        self.assertLess(machine["took_seconds"], 60)

    def minimd(self, *words):
        report = self.at / "minimd.json"
        done = run(given.bin / "minimd", "--quiet", "--device", "cuda", "--thermo", "0", "--report", report, *words)
        return done, json.loads(report.read_text()) if done.returncode == 0 else None

    def test_atoms_are_where_they_are_on_average(self):
        """As measured: bench/results/minimd/2026-11-23-h200-minimd.md, 2026-11-24-h200-x2-minimd.md."""
        for words, gpus, measured in (("-s 64 -n 40 --reneighbour 0", 1, 4054), ("-s 64 -n 40", 1, 2981), ("-s 192 -n 20 --reneighbour 0", 2, 9660),
                                      ("-s 96 -n 40 -c 4", 2, 6284)):
            done, report = self.minimd(*words.split(), "--pes", str(gpus), f"--imbrex-gpus={gpus}", "--imbrex-machine=h200-x4", "--imbrex-ranks=1",
                                       "--imbrex-machine-data=off")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLess(abs(report["atom_steps_per_second"] / measured / 1e6 - 1), 0.15, f"{words}: {report['atom_steps_per_second']}")

    def test_atoms_go_to_other_ranks_and_stay_as_many(self):
        words = ("-s", "48", "-n", "45", "--odf", "2", "--comm", "host", "--imbrex-machine=summit", "--imbrex-nodes=2")
        for more in ((), ("--imbrex-machine-data=on",), ("--lists", "half", "--streams", "device")):
            done, report = self.minimd(*words, *more)
            self.assertEqual(done.returncode, 0, done.stderr)  # which counts the atoms
            self.assertEqual((report["atoms"], report["ranks"]), (4 * 48**3, 12))
        for refused in (("--verify",), ("--imbalance", "2"), ("--dump", self.at / "a.xyz")):
            done, _ = self.minimd(*words, *refused)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("on simulated GPUs there are none", done.stderr)

    def test_a_trace_is_in_virtual_time(self):
        trace = self.at / "trace.json"
        jacobi, machine = self.machine("--device", "cuda", "-x", "192", "-i", "10", "--odf", "2", "--trace", trace, "--imbrex-machine=summit",
                                       "--imbrex-nodes=2")
        events = json.loads(trace.read_text())["traceEvents"]
        kernels = [e for e in events if e.get("ph") == "X" and "jacobi" in e["name"] and "update" in e["name"]]
        self.assertGreater(len(kernels), 12 * 24 * 0.9)
        end = max(e["ts"] + e["dur"] for e in kernels)
        self.assertLess(end, machine["virtual_seconds"] * 1e6)
        self.assertGreater(end, 10 * jacobi["time_per_iteration_us"]["median"])


class Tools(Virtual):
    def tool(self, *words, **more):
        return run(given.bin / "imbrex", *words, **more)

    def test_machines(self):
        names = self.tool("machines").stdout
        for name in ("summit", "lassen", "prema-cluster", "romeo", "h200-x4", "dgx-h200"):
            self.assertIn(name, names)
        mine = self.at / "mine.toml"
        mine.write_text(self.tool("machines", "summit").stdout.replace('name = "summit"', 'name = "mine"'))
        facts = json.loads(self.tool("machines", mine, "--json").stdout)
        self.assertEqual((facts["name"], facts["gpus"]), ("mine", 6))
        self.assertEqual(self.tool("machines", mine).stdout, mine.read_text())
        mine.write_text('name = "mine')
        refused = self.tool("machines", mine)
        self.assertEqual(refused.returncode, 2)
        self.assertNotIn("there is no machine", refused.stderr)
        refused = self.tool("machines", "smmit")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("summit", refused.stderr)

    def test_measure_machine_finds_what_a_machine_is_described_by(self):
        if not given.cuda:
            self.skipTest("this build has no CUDA")
        described = numbers(self.tool("machines", "summit").stdout)
        out = self.at / "measured.toml"
        done = self.tool("measure-machine", "--repeats", "5", "--output", out, "--imbrex-machine=summit", "--imbrex-device=cuda", "--imbrex-nodes=2",
                         "--imbrex-ranks-per-node=3", "--imbrex-gpus=2", "--imbrex-pes=2", "--imbrex-machine-data=off")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = numbers(out.read_text())
        for part, key, within in (("cpu", "dispatch_us", 0.05), ("cpu", "send_us", 0.05), ("network", "latency_us", 0.3), ("network", "gbs", 0.1),
                                  ("gpu", "memory_gbs", 0.1), ("gpu", "kernel_us", 0.15), ("gpu", "launch_us", 0.1), ("gpu", "copy_us", 0.1),
                                  ("gpu", "event_us", 0.3), ("gpu", "copy_start_us", 0.2), ("gpu", "host_gbs", 0.1), ("gpu", "peer_gbs", 0.1),
                                  ("gpu", "peer_us", 0.3), ("gpu", "graph_node_us", 0.3), ("gpu", "graph_launch_us", 0.3), ("gpu", "tflops", 0.1), ("gpu", "filling_threads", 0.15)):
            with self.subTest(f"{part}.{key}"):
                self.assertAlmostEqual(found[part, key] / described[part, key], 1, delta=within)
        again = run(given.bin / "jacobi3d", "--quiet", "--repeats", "1", "-x", "64", "-i", "5", f"--imbrex-machine={out}", "--imbrex-nodes=2")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_measure_machine_writes_any_name(self):
        out = self.at / "odd.toml"
        name = 'a"b\\c\nd'
        done = self.tool("measure-machine", "--repeats", "1", "--output", out, "--name", name, "--imbrex-device=host")
        self.assertEqual(done.returncode, 0, done.stderr)
        facts = self.tool("machines", out, "--json")
        self.assertEqual(facts.returncode, 0, facts.stderr)
        self.assertEqual(json.loads(facts.stdout)["name"], name)

    def test_predict(self):
        if not given.cuda:
            self.skipTest("this build has no CUDA")
        out = self.at / "prediction.json"
        done = self.tool("predict", "jacobi3d", "--machine", "h200-x4", "--gpus", "1,4", "--odf", "1,2", "--fusion", "C", "--seeds", "2", "--json", out,
                         "-x", "384")
        self.assertEqual(done.returncode, 0, done.stderr)
        one, four = json.loads(out.read_text())["predictions"]
        best = {p["gpus"]: min(c["us"] for c in p["candidates"]) for p in (one, four)}
        self.assertEqual(len(one["candidates"]), 2)
        self.assertGreater(best[1], 2 * best[4])
        for c in one["candidates"] + four["candidates"]:
            self.assertLessEqual(c["low"], c["us"])
            self.assertLessEqual(c["us"], c["high"])
            self.assertGreater(c["parts_us"]["gpu"], 0.3 * c["us"])
        self.assertIn("fusion C", done.stdout)

    def test_predict_says_what_is_wrong(self):
        for words, text in ((("jacobi3d", "--machine", "smmit", "--gpus", "6"), "there is no machine 'smmit'"),
                            (("no_such", "--machine", "summit", "--gpus", "6"), "there is no program 'no_such'"),
                            (("jacobi3d", "--machine", "summit", "--gpus", "x"), "whole numbers"),
                            (("minimd", "--machine", "summit", "--gpus", "6", "--odf", "1,2"), "-- --odf"),
                            (("/bin/true", "--machine", "summit", "--gpus", "6"), "is it a program of imbrex"),
                            (("jacobi3d", "--machine", "summit", "--gpus", "6", "--no-such-option"), "no-such-option")):
            refused = self.tool("predict", *words)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(text, refused.stderr)

    def test_figures(self):
        if not given.cuda:
            self.skipTest("this build has no CUDA")
        listed = self.tool("figures", "--list", "--machine", "summit")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("c22-fig7", listed.stdout)
        done = self.tool("figures", "c20-fig5", "--machine", "summit", "--gpus", "6", "--quick", "--repetitions", "1", "--output", self.at / "f")
        self.assertEqual(done.returncode, 0, done.stderr)
        values = json.loads((self.at / "f" / "figures.json").read_text())
        self.assertEqual(values["setting"]["machine"], "summit")
        self.assertIn("in virtual time", (self.at / "f" / "index.html").read_text())
        refused = self.tool("figures", "m21-fig3", "--machine", "summit")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("not simulated", refused.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--cuda", action="store_true")
    given, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
