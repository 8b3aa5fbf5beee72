#!/usr/bin/env python3
"""imbrex trace page, draw and dot: what they read from a trace, by small ones that are made here, and a real one.

  trace_page_test.py --tool build/default/bin/imbrex --jacobi build/default/bin/jacobi3d --dgemm build/default/bin/tiled_dgemm --pages tools/trace_page
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

parser = argparse.ArgumentParser()
parser.add_argument("--tool", required=True)
parser.add_argument("--jacobi", required=True)
parser.add_argument("--dgemm", required=True)
parser.add_argument("--pages", required=True)
given, rest = parser.parse_known_args()
sys.path.insert(0, given.pages)

import critical  # noqa: E402
import events  # noqa: E402
import measures  # noqa: E402
import tasks  # noqa: E402
import timeline  # noqa: E402


def write(folder, *made):
    """A trace of these events; (tid, begin, length, category, name) are slices, ("message", from, sent, to, received) messages; from 9 on
    tracks are streams. ("unknown", to, received) is a message of a rank that is not recorded, ("task", tid, {...}) a task."""
    all_of = [{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "rank 0"}}]
    for n, e in enumerate(made):
        if e[0] == "message":
            _, sender, sent, receiver, received = e
            all_of.append({"ph": "s", "cat": "comm", "id": hex(n), "pid": 0, "tid": sender, "ts": sent})
            all_of.append({"ph": "f", "id": hex(n), "pid": 0, "tid": receiver, "ts": received})
        elif e[0] == "unknown":
            all_of.append({"ph": "f", "cat": "comm", "id": hex(n), "pid": 0, "tid": e[1], "ts": e[2]})
        elif e[0] == "task":
            all_of.append({"ph": "M", "name": "imbrex_task", "pid": 0, "tid": e[1], "args": {"place": "the host", "after": [], **e[2]}})
        else:
            tid, begin, length, kind, name = e
            all_of.append({"ph": "X", "pid": 0, "tid": tid, "ts": begin, "dur": length, "cat": kind, "name": name})
    for tid in {e[0] for e in made if isinstance(e[0], int)}:
        all_of.append({"ph": "M", "name": "thread_name", "pid": 0, "tid": tid, "args": {"name": f"PE {tid}"}})
        all_of.append({"ph": "M", "name": "imbrex_track", "pid": 0, "tid": tid, "args": {"kind": "pe" if tid < 9 else "stream"}})
    path = pathlib.Path(folder) / "made.json"
    path.write_text(json.dumps({"traceEvents": all_of, "otherData": {"ranks": 2, "recorded": 1 if any(e[0] == "unknown" for e in made) else 2}}))
    return events.read(path)


class Made(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def made(self, *all_of):
        return write(self.folder.name, *all_of)

    def test_a_drawing_shows_what_is_asked_for(self):
        trace = self.made((0, 0, 400, "entry", "a::block<int>::run"), (1, 100, 300, "idle", "idle"), (9, 50, 100, "kernel", "update"),
                          ("message", 0, 10, 1, 90), ("message", 0, 20, 0, 30))
        text = timeline.draw(trace, 0, 400, timeline.tracks_named(trace, [], 8))
        self.assertEqual(xml.etree.ElementTree.fromstring(text).tag, "{http://www.w3.org/2000/svg}svg")
        for word in ("block::run", "update", "PE 1", ">us<", ">200<"):
            self.assertIn(word, text)
        self.assertEqual(text.count('stroke-opacity'), 1)  # the message between lines; the other stays on its line
        self.assertNotIn("stroke-opacity", timeline.draw(trace, 100, 400, [0, 1]))
        self.assertNotIn("update", timeline.draw(trace, 200, 400, [0, 1, 2]))
        self.assertEqual([trace.tracks[i].name for i in timeline.tracks_named(trace, ["PE 9"], 8)], ["rank 0, PE 9"])
        for wrong in (lambda: timeline.draw(trace, 300, 200, [0]), lambda: timeline.tracks_named(trace, ["nobody"], 8)):
            self.assertRaises(events.TraceError, wrong)

    def test_each_moment_belongs_to_the_innermost_slice(self):
        t = self.made((0, 100, 50, "entry", "a"), (0, 110, 10, "kernel", "k"), (0, 115, 2, "comm", "m"), (0, 140, 10, "kernel", "k"), (0, 160, 5, "idle", "idle"))
        self.assertEqual([(s.begin, s.end, s.kind) for s in t.tracks[0].own],
                         [(0, 10, "entry"), (10, 15, "kernel"), (15, 17, "comm"), (17, 20, "kernel"), (20, 40, "entry"), (40, 50, "kernel"),
                          (60, 65, "idle")])
        self.assertEqual(t.tracks[0].name, "rank 0, PE 0")
        self.assertEqual(dict(measures.time_of_kinds(t.tracks[0])), {"entry": 30, "kernel": 18, "comm": 2, "idle": 5})

    def test_utilisation_adds_up(self):
        t = self.made((0, 0, 25, "entry", "a"), (0, 25, 50, "idle", "idle"), (0, 75, 25, "kernel", "k"))
        shares = measures.utilisation(t.tracks[0], t.length, 10)
        self.assertEqual(len(shares), 10)
        for kind, expected in (("entry", 2.5), ("idle", 5), ("kernel", 2.5)):
            self.assertAlmostEqual(sum(s[kind] for s in shares), expected)
        self.assertAlmostEqual(shares[2]["entry"], 0.5)
        self.assertAlmostEqual(shares[2]["idle"], 0.5)

    def test_overlap_and_who_is_waited_for(self):
        # PE 1 works until 40 and idles until the message of PE 0, which is on its way from 20 to 60, has come.
        t = self.made((0, 0, 100, "entry", "a"), (1, 0, 40, "entry", "b"), (1, 40, 20, "idle", "idle"), (1, 60, 40, "entry", "b"),
                      ("message", 0, 20, 1, 60), ("message", 0, 30, 1, 61))
        o = measures.overlap(t, 1)
        self.assertAlmostEqual(o.in_flight, 41)
        self.assertAlmostEqual(o.hidden, 21)
        self.assertEqual(dict(measures.awaited_by(t, 1)), {0: 20})
        self.assertEqual(measures.message_matrix(t), {(0, 1): 2})
        self.assertEqual(measures.overlap(t, 0).in_flight, 0)

    def test_idle_that_no_message_ends_is_nobodys(self):
        t = self.made((0, 0, 10, "entry", "a"), (0, 10, 20, "idle", "idle"), (0, 30, 10, "entry", "a"), (1, 0, 100, "entry", "b"), ("message", 1, 50, 0, 90))
        self.assertEqual(dict(measures.awaited_by(t, 0)), {None: 20})

    def test_critical_path_goes_over_to_who_sent(self):
        # 1 works 0..30 and sends at 30; 0 idles until 45 and works until 100, longer than anyone.
        t = self.made((0, 0, 10, "entry", "short"), (0, 10, 35, "idle", "idle"), (0, 45, 55, "entry", "last"), (1, 0, 30, "entry", "first"),
                      (1, 30, 10, "entry", "rest"), ("message", 1, 30, 0, 45))
        steps = critical.path(t)
        self.assertEqual([(track, what) for track, _, _, what in steps], [(0, "last"), (0, "message"), (1, "first")])
        self.assertEqual(dict(critical.shares(steps)), {"last": 55, "message": 15, "first": 30})
        self.assertAlmostEqual(sum(e - b for _, b, e, _ in steps), t.length)

    def test_critical_path_goes_by_streams_of_gpus(self):
        # PE 0 launches at 10 and idles; stream 9 runs 12..40, stream 10 waits for it and runs 41..70; PE 0 notices at 75 and works until 100.
        t = self.made((0, 0, 10, "entry", "launch"), (0, 10, 65, "idle", "idle"), (0, 75, 25, "entry", "last"), (9, 12, 28, "kernel", "one"),
                      (10, 41, 29, "kernel", "two"))
        steps = critical.path(t)
        self.assertEqual([(track, what) for track, _, _, what in steps],
                         [(0, "last"), (0, "noticing the end of a stream's work"), (2, "two"), (2, "from stream to stream"), (1, "one"),
                          (1, "start of a stream's work"), (0, "launch")])
        self.assertAlmostEqual(sum(e - b for _, b, e, _ in steps), t.length)
        self.assertEqual(dict(measures.awaited_by(t, 0)), {2: 65})

    def test_a_stream_that_follows_itself_needs_nobody(self):
        t = self.made((0, 0, 10, "entry", "launch"), (0, 10, 90, "idle", "idle"), (9, 15, 25, "kernel", "one"), (9, 40, 60, "kernel", "two"))
        self.assertEqual([what for *_, what in critical.path(t)], ["two", "one", "start of a stream's work", "launch"])

    def test_a_message_of_a_rank_that_is_not_recorded_ends_idleness(self):
        t = self.made((0, 0, 10, "entry", "a"), (0, 10, 20, "idle", "idle"), (0, 30, 10, "entry", "b"), ("unknown", 0, 30))
        self.assertEqual((t.ranks, t.recorded), (2, 1))
        self.assertEqual(dict(measures.awaited_by(t, 0)), {measures.OTHERS: 20})
        self.assertEqual([what for *_, what in critical.path(t)], ["b", "a rank that is not recorded", "a"])
        self.assertEqual(measures.overlap(t, 0).in_flight, 0)

    def test_tasks_and_their_longest_chain(self):
        def task(number, name, began, length, *after):
            return ("task", 0, {"task": number, "name": name, "submitted": 1, "ready": began - 2, "began": began, "ended": began + length, "after": list(after)})

        t = self.made((0, 0, 100, "entry", "a"), task(1, "potrf", 10, 5), task(2, "trsm", 20, 10, 1), task(3, "trsm", 30, 4, 1), task(4, "gemm", 40, 3, 2, 3))
        self.assertEqual([k.number for k in tasks.longest_chain(t)], [1, 2, 4])
        trsm = tasks.by_name(t)[0]
        self.assertEqual((trsm.name, trsm.count, trsm.running, trsm.for_tasks, trsm.for_place), ("trsm", 2, 14, 17 + 27, 4))
        graph = tasks.dot(t, 100)
        for line in ("t0_1 -> t0_2 [color", "t0_1 -> t0_3;", "t0_2 -> t0_4 [color", "t0_3 -> t0_4;", 'label="rank 0, PE 0"', "trsm 2\\n10.0 us, the host"):
            self.assertIn(line, graph)
        self.assertIn("the first 2 of 4 tasks", tasks.dot(t, 2))
        self.assertNotIn("t0_3", tasks.dot(t, 2))

    def test_events_that_are_none_of_imbrex_are_named(self):
        good = {"ph": "X", "pid": 0, "tid": 0, "ts": 1, "dur": 2, "name": "x"}
        odd = [{**good, "dur": None}, {**good, "ts": "a"}, {**good, "tid": []}, {"ph": "X"}, 5, None, "s", {"ph": "M"}, {"ph": "f", "id": []},
               {"ph": "M", "name": "imbrex_task", "args": {}}, {"ph": "M", "name": "thread_name", "args": 3}]
        path = pathlib.Path(self.folder.name) / "odd.json"
        for e in odd:
            path.write_text(json.dumps({"traceEvents": [good, e]}))
            with self.assertRaises(events.TraceError, msg=e) as raised:
                events.read(path)
            self.assertIn("event 1 is none", str(raised.exception))
        path.write_text(json.dumps({"traceEvents": [good, {"ph": [], "name": {}}], "otherData": {"ranks": "many"}}))
        self.assertEqual(events.read(path).length, 2)

    def test_grain_sizes(self):
        t = self.made((0, 0, 1, "entry", "a"), (0, 2, 1.9, "entry", "a"), (0, 5, 4, "entry", "a"), (0, 10, 100, "kernel", "k"))
        self.assertEqual(measures.grain_sizes(t), {0: 2, 2: 1})


class Command(unittest.TestCase):
    def page(self, *words):
        return subprocess.run([given.tool, "trace", "page", *words], capture_output=True, text=True, timeout=120, check=False)

    def test_draws_a_run_and_two_side_by_side(self):
        with tempfile.TemporaryDirectory() as folder:
            traces = []
            for odf in ("1", "4"):
                traces.append(f"{folder}/odf{odf}.json")
                subprocess.run([given.jacobi, "-x", "32", "-i", "20", "--repeats", "1", "--device", "host", "--pes", "2", "--odf", odf, "--quiet", "--trace", traces[-1]],
                               check=True, timeout=60)
            t = events.read(traces[1])
            self.assertEqual(len(t.pes()), 2)
            for track in t.tracks:
                self.assertLessEqual(sum(s.length for s in track.own), t.length * 1.0001)
                self.assertTrue(all(a.end <= b.begin + 1e-6 for a, b in zip(track.own, track.own[1:])))
            steps = critical.path(t)
            whole = sum(e - b for _, b, e, _ in steps)
            self.assertLessEqual(whole, t.length * 1.0001)
            # It ends where the last track begins that it comes to, and a PE's thread may have begun late.
            self.assertTrue(any(what not in ("message", "idle") for _, _, _, what in steps))
            for (_, begin, _, _), (_, _, end, _) in zip(steps, steps[1:]):
                self.assertLessEqual(end, begin + 1e-6)
            done = self.page(traces[0], traces[1], "--output", f"{folder}/page.html")
            self.assertEqual(done.returncode, 0, done.stderr)
            text = pathlib.Path(f"{folder}/page.html").read_text()
            for what in ("Side by side", "odf1.json", "odf4.json", "The critical path", "waiting for whom", "rank 0, PE 1", "jacobi::block"):
                self.assertIn(what, text)
            self.assertNotIn("src=", text)
            drawn = subprocess.run([given.tool, "trace", "draw", traces[1], "--to", "1", "--output", f"{folder}/t.svg"], capture_output=True, text=True,
                                   timeout=60, check=False)
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            self.assertIn("rank 0, PE 1", pathlib.Path(f"{folder}/t.svg").read_text())

    def test_draws_the_tasks_of_a_run(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([given.dgemm, "--n", "64", "--tile", "32", "--repeats", "1", "--imbrex-pes=1", f"--imbrex-trace={folder}/t.json"], check=True, timeout=60,
                           stdout=subprocess.DEVNULL)
            t = events.read(f"{folder}/t.json")
            self.assertGreaterEqual(len(t.tasks), 8)
            numbers = {k.number for k in t.tasks}
            for k in t.tasks:
                self.assertTrue(k.submitted <= k.ready <= k.began <= k.ended, k)
                self.assertTrue(set(k.after) <= numbers and all(n < k.number for n in k.after), k)
            self.assertTrue(any(k.after for k in t.tasks))
            done = subprocess.run([given.tool, "trace", "dot", f"{folder}/t.json", "--output", f"{folder}/t.dot"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(pathlib.Path(f"{folder}/t.dot").read_text().count("[label="), len(t.tasks))
            self.assertEqual(self.page(f"{folder}/t.json", "--output", f"{folder}/page.html").returncode, 0)
            self.assertIn("The longest chain has", pathlib.Path(f"{folder}/page.html").read_text())

    def test_says_that_nothing_can_be_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": [{"ph": "X", "pid": 0, "tid": 0, "ts": 1, "dur": 2, "name": "x"}]}))
            with open(path, encoding="utf-8") as only_read:
                done = subprocess.run([given.tool, "trace", "draw", path, "--output", f"{folder}/t.svg"], stdout=only_read,
                                      stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "imbrex trace: standard output: Bad file descriptor\n")

    def test_says_what_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "broken.json"
            broken.write_text("[1, 2")
            empty = pathlib.Path(folder) / "empty.json"
            empty.write_text('{"traceEvents": []}')
            for words, text in (((str(broken),), "cannot be read as a trace"), ((str(empty),), "has no slices"), (("/no/such",), "/no/such"),
                                ((str(empty),) * 3, "one, or two"), ((), "FILE")):
                refused = self.page(*words)
                self.assertEqual(refused.returncode, 2, words)
                self.assertIn(text, refused.stderr)
            for file, text in ((empty, "has no slices"), ("/no/such", "cannot be read")):
                refused = subprocess.run([given.tool, "trace", "summary", file], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(refused.returncode, 2, file)
                self.assertIn(text, refused.stderr)


unittest.main(argv=[sys.argv[0], *rest])
