"""What programs with a mistake are told: whose code crashed, called exit, does not come back; a task that nobody awaits; memory that is sent and
written again, or beyond its end; streams without an order."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

given = argparse.Namespace()
SHAPES = (["--imbrex-pes=1"], ["--imbrex-pes=4"], ["--imbrex-ranks=2", "--imbrex-pes=1"])


def run(*words, before=(), timeout=60):
    return subprocess.run([*before, given.job, *words], capture_output=True, text=True, timeout=timeout, check=False)


class Mistakes(unittest.TestCase):
    def each(self, how):
        return [run(how, *shape) for shape in SHAPES]

    def test_a_crash_says_whose_code_it_was(self):
        for how, signal, name in (("segv", 11, "SIGSEGV"), ("raise", 11, "SIGSEGV"), ("abort", 6, "SIGABRT"), ("terminate", 6, "SIGABRT")):
            for done in self.each(how):
                self.assertIn(name, done.stderr)
                self.assertIn("in cell::falls of cell(1,1) on PE ", done.stderr)
                self.assertEqual(done.stderr.count("imbrex: error"), 1, done.stderr)
                if not given.sanitized:  # which have exit codes of their own
                    self.assertEqual(done.returncode, -signal, done.stderr)

    def test_a_stack_that_is_full_is_named(self):
        if given.sanitized:
            self.skipTest("a sanitizer watches stacks itself")
        for done in self.each("stack"):
            self.assertIn("in cell::falls of cell(1,1) on PE ", done.stderr)
            self.assertIn("its stack is full", done.stderr)
            self.assertEqual(done.returncode, -11, done.stderr)

    def test_exit_is_no_success(self):
        for how, code in (("exit", 70), ("exit3", 3)):
            for done in self.each(how):
                self.assertIn("was called in cell::falls of cell(1,1) on PE ", done.stderr)
                self.assertIn("rt().exit(code)", done.stderr)
                self.assertNotIn("the end", done.stdout)
                self.assertEqual(done.returncode, code, done.stderr)

    def test_an_entry_method_that_does_not_come_back_is_told_of(self):
        done = run("blocks", "--imbrex-pes=4")
        self.assertRegex(done.stderr, r"PE 3 has been in cell::falls for 10 s")
        self.assertEqual(done.stderr.count("has been in"), 1, "the others rest")
        self.assertEqual((done.returncode, done.stdout), (0, "the end\n"), done.stderr)

    def test_a_task_that_nobody_awaits_is_warned_of(self):
        for done in self.each("forgets"):
            self.assertIn("a task was made in cell::forgets and never awaited", done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_memory_that_is_written_again_is_found(self):
        for shape in SHAPES:
            done = run("overwrites", "--imbrex-check-races", *shape)
            self.assertIn("lent memory that was written before the receiver had read it", done.stderr)
            self.assertEqual(done.returncode, 70, done.stderr)

    def test_what_is_written_beyond_an_end_is_found(self):
        for shape in SHAPES:
            for how, owner in (("too-far", "cell::goes_too_far"), ("too-far-in-task", ""), ("too-far-in-member", "cell::goes_too_far_in_a_member")):
                done = run(how, "--imbrex-check-memory", *shape)
                self.assertRegex(done.stderr, f"800 bytes of .*memory on host, which {owner}.* had, were written beyond their end: .* from byte 800 on")
                self.assertEqual(done.returncode, 70, done.stderr)
            done = run("forgets", "--imbrex-check-memory", *shape)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_address_sanitizer_of_a_program_watches_buffers(self):
        if not given.watched:
            self.skipTest("the compiler has no address sanitizer, or everything here is built with one")
        for shape in SHAPES:
            done = subprocess.run([given.watched, "too-far", *shape], capture_output=True, text=True, timeout=60, check=False)
            self.assertIn("heap-buffer-overflow", done.stderr)
            self.assertIn("goes_too_far", done.stderr)
            self.assertIn("0 bytes after 800-byte region", done.stderr.replace("to the right of", "after"))
            self.assertNotEqual(done.returncode, 0)
            done = subprocess.run([given.watched, "forgets", *shape], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_job_that_fails_leaves_what_each_rank_has_traced(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            done = run("too-far", "--imbrex-check-memory", "--imbrex-ranks=2", f"--imbrex-trace={at}/t.json")
            self.assertEqual(done.returncode, 70, done.stderr)
            self.assertEqual(sorted(p.name for p in at.iterdir()), ["t.rank0.json", "t.rank1.json"])
            for part in at.iterdir():
                self.assertIn(str(part), done.stderr)
                self.assertTrue(json.loads(part.read_text())["traceEvents"])

    def test_a_trace_has_what_the_main_chare_does_before_it_waits(self):
        with tempfile.TemporaryDirectory() as folder:
            for shape in SHAPES:
                run("forgets", *shape, f"--imbrex-trace={folder}/t.json")
                events = json.loads(pathlib.Path(folder, "t.json").read_text())["traceEvents"]
                runs = [e for e in events if e.get("ph") == "X" and e["name"] == "the main chare"]
                self.assertGreaterEqual(len(runs), 2, "before it waits for quiescence, and after")

    def test_streams_without_an_order_show_under_a_seed(self):
        early = {run("forgets-after", "--imbrex-pes=1", f"--imbrex-schedule-seed={s}").stdout.split()[0] for s in range(1, 9)}
        self.assertTrue(early - {"0"}, early)

    def test_ranks_in_each_of_several_processes_are_refused(self):
        if not given.mpirun:
            self.skipTest("there is no MPI")
        done = run("forgets", "--imbrex-ranks=2", before=[*given.mpirun, "2"])
        self.assertIn("--imbrex-ranks=2: these are ranks inside one process", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", type=pathlib.Path, required=True)
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--watched", type=pathlib.Path)
    parser.add_argument("--mpirun", nargs=argparse.REMAINDER, default=[])
    given, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
