#!/usr/bin/env python3
"""Runs asp on several ranks: results, bad input, timelines.

usage: process_test.py LAUNCHER ASP DATA_FOLDER [unittest arguments]

LAUNCHER is esp-run: `LAUNCHER -n RANKS ASP ...`. Every run has a time limit, so a hang fails.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

RUN_SECONDS = 60
LAUNCHER, ASP, DATA = "", "", pathlib.Path()


def run(ranks, *arguments):
    """Runs asp on `ranks` ranks, or without a launcher when that is None."""
    launcher = [] if ranks is None else [*LAUNCHER.split(), "-n", str(ranks)]
    return subprocess.run([*launcher, ASP, *map(str, arguments)], capture_output=True, text=True,
                          timeout=RUN_SECONDS, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def succeed(self, ranks, *arguments):
        result = run(ranks, *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def check_passes(self, ranks, *arguments):
        out = self.succeed(ranks, "--self-check", *arguments)
        self.assertIn("self-check   passed", out)
        return out

    def fail_with(self, exit_code, message, ranks, *arguments):
        """All ranks end, and rank 0 alone explains."""
        result = run(ranks, *arguments)
        self.assertEqual(result.returncode, exit_code, result.stdout + result.stderr)
        self.assertEqual(result.stderr.count(message), 1, result.stderr)
        self.assertEqual(result.stdout, "")


class Network(Case):
    """The shipped road network."""

    def test_same_result_on_any_number_of_ranks(self):
        for ranks in (1, 2, 4, 7):
            with self.subTest(ranks=ranks):
                out = self.check_passes(ranks, DATA / "liechtenstein.gr", "--unit", "m")
                self.assertIn("1626 vertices, 3902 arcs", out)
                self.assertIn(f"ranks        {ranks},", out)
                self.assertIn("longest      29173 m\n", out)
                self.assertRegex(out, r"from Schellenberg, Neue Freschnerstraße \(47\.2538, 9\.57")
                self.assertIn("1626 of 1626 rows", out)

    def test_route_between_villages(self):
        out = self.succeed(4, DATA / "liechtenstein.gr", "--query", "Ruggell", "Balzers",
                           "--query", "vaduz", "VADUZ")
        self.assertIn("Ruggell -> Balzers: 21757, 114 arcs", out)
        self.assertRegex(out, r"\n +0  Ruggell\n")
        self.assertRegex(out, r"\n +21757  Balzers\n")
        self.assertIn("Vaduz -> Vaduz: 0, 0 arcs", out)


class Small(Case):
    """Random graphs: every way to run."""

    def test_ranks_and_lookahead(self):
        for ranks in (1, 2, 4, 7):
            for lookahead in (0, 1, 4):
                with self.subTest(ranks=ranks, lookahead=lookahead):
                    self.check_passes(ranks, "--synthetic", 60, "--lookahead", lookahead)

    def test_more_ranks_than_rows(self):
        for vertices in (1, 2, 3):
            with self.subTest(vertices=vertices):
                self.check_passes(7, "--synthetic", vertices)

    def test_wide_distances(self):
        self.assertIn("64-bit", self.check_passes(3, "--synthetic", 50, "--distance", "int64"))

    def test_shapes(self):
        for shape in ("flat", "chain", "binary", "binomial", "kary", "knomial"):
            with self.subTest(shape=shape):
                self.check_passes(4, "--synthetic", 40, "--algorithm", "tree", "--shape", shape,
                                  "--segment", 64)

    def test_variants(self):
        for variant in ("event", "waitall", "blocking"):
            with self.subTest(variant=variant):
                self.check_passes(4, "--synthetic", 40, "--algorithm", "tree", "--variant",
                                  variant, "--segment", 64)

    def test_unreachable_vertices(self):
        self.assertIn("paths        none", self.check_passes(2, "--synthetic", 9, "--degree", 0))
        out = self.check_passes(2, self.file("two.gr", "p sp 3 1\na 1 2 5\n"), "--query", 1, 2,
                                "--query", 2, 1)
        self.assertIn("1 of 6 pairs", out)
        self.assertIn("vertex 1 -> vertex 2: 5, 1 arcs", out)
        self.assertIn("vertex 2 -> vertex 1: there is none", out)

    def test_matrix_market(self):
        text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 2 0.25\n"
        out = self.check_passes(2, self.file("path.mtx", text), "--scale", 100)
        self.assertIn("longest      75\n", out)

    def test_without_a_launcher(self):
        self.assertIn("ranks        1,", self.check_passes(None, "--synthetic", 30))

    def test_progress_bar(self):
        result = run(2, "--synthetic", 30, "--progress", "on")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"\[#+ *\] +\d+ %")

    def test_timeline_has_spans_of_every_rank(self):
        for ranks in (1, 3):
            path = self.folder / f"timeline{ranks}.json"
            self.succeed(ranks, "--synthetic", 50, "--timeline", path)
            events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
            spans = [event for event in events if event["ph"] == "X"]
            self.assertTrue(all(span["ts"] >= 0 and span["dur"] >= 0 for span in spans))
            for rank in range(ranks):
                names = {span["name"] for span in spans if span["tid"] == rank}
                self.assertLessEqual({"setup", "compute", "broadcast", "evaluate"}, names)
                steps = {span["args"]["step"] for span in spans
                         if span["tid"] == rank and span["name"] == "broadcast"}
                self.assertEqual(steps, set(range(50)))
                self.assertFalse(pathlib.Path(f"{path}.rank{rank}").exists())

    def test_timeline_with_the_segments_of_the_library(self):
        """Every segment that a rank sent was received, both are spans, and none is left open."""
        path = self.folder / "timeline.json"
        with unittest.mock.patch.dict(os.environ, ESPALIER_TRACE="1"):
            self.succeed(3, "--synthetic", 200, "--algorithm", "tree", "--segment", 256,
                         "--timeline", path)
        sent, received = collections.Counter(), collections.Counter()
        for rank in range(3):
            trace = json.loads(pathlib.Path(f"{path}.rank{rank}").read_text(encoding="utf-8"))
            self.assertEqual(trace["otherData"]["dropped_events"], 0)
            for event in trace["traceEvents"]:
                self.assertNotIn("unfinished", event["name"])
                if event["name"] not in ("send", "recv"):
                    continue
                self.assertEqual(event["ph"], "X")
                self.assertGreaterEqual(event["dur"], 0)
                peer, about = event["args"]["peer"], event["args"]
                # The graph is published, not sent; messages have the vertices from 256 on.
                if about["value"] > 256 or about["vertex"] >= 256:
                    continue
                ends = (rank, peer) if event["name"] == "send" else (peer, rank)
                key = (*ends, about["sequence"], about["index"], about["value"])
                (sent if event["name"] == "send" else received)[key] += 1
        self.assertEqual(sent, received)
        # 200 rows of 800 bytes in segments of 256, each to two ranks.
        self.assertGreaterEqual(sent.total(), 200 * 4 * 2)


class BadInput(Case):
    def test_corrupt_graphs(self):
        head = "p sp 3 2\na 1 2 5\n"
        cases = (("truncated.gr", head, "truncated.gr:2: the file ends after 1 of the 2 arcs"),
                 ("vertex.gr", head + "a 1 9 5\n", "vertex.gr:3: expected a vertex"),
                 ("weight.gr", head + "a 1 3 -5\n", "weight.gr:3: expected a weight"),
                 ("huge.gr", "p sp 3 99999999999\n", "huge.gr:1: expected the number of arcs"),
                 ("wide.gr", "p sp 999999999 1\n", "wide.gr:1: expected the number of vertices"),
                 ("empty.gr", "", "empty.gr: the file is empty"),
                 ("binary.gr", "\0\1\2\3\n", "binary.gr:1: expected a line"),
                 ("banner.mtx", "%%MatrixMarket tensor\n", "banner.mtx:1: expected '%%Matrix"),
                 ("text.txt", "hello\n", "text.txt: unknown format"))
        for name, text, message in cases:
            with self.subTest(name=name):
                self.fail_with(1, message, 4, self.file(name, text))

    def test_corrupt_names(self):
        graph = self.file("named.gr", "p sp 2 1\na 1 2 5\n")
        self.file("named.names", "1\t47\t9\tA\n")
        self.fail_with(1, "named.names:1: the file ends without a name for vertex 2", 3, graph)

    def test_missing_file(self):
        self.fail_with(1, "nowhere.gr: No such file or directory", 4, "nowhere.gr")
        self.fail_with(1, "nowhere.gr: No such file or directory", None, "nowhere.gr")

    def test_unknown_name(self):
        self.fail_with(1, "no vertex is called 'Atlantis'", 3, DATA / "liechtenstein.gr", "--query",
                       "Vaduz", "Atlantis")

    def test_timeline_cannot_be_written(self):
        self.fail_with(1, "/nowhere/t.json: cannot be written", 3, "--synthetic", 5, "--timeline",
                       "/nowhere/t.json")

    def test_narrow_distances_that_may_overflow(self):
        graph = self.file("far.gr", "p sp 9 1\na 1 2 999999999\n")
        self.fail_with(1, "--distance int32: a path of this graph may be", 2, graph, "--distance",
                       "int32")

    def test_command_line(self):
        self.fail_with(2, "--wrong", 3, "--synthetic", 5, "--wrong")
        self.fail_with(2, "FILE or --synthetic N", 3)
        self.fail_with(2, "--shape: expected auto|", 3, "--synthetic", 5, "--shape", "star")

    def test_help_is_printed_once(self):
        out = self.succeed(3, "--help")
        self.assertEqual(len(re.findall("--self-check", out)), 1)


if __name__ == "__main__":
    LAUNCHER, ASP, DATA = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
