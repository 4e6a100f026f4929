#!/usr/bin/env python3
"""Runs histogram_sort on several ranks, and looks at what it has written.

usage: histogram_sort_test.py LAUNCHER HISTOGRAM_SORT [unittest arguments]
"""
import array
import sys
import unittest

from application import Application

VARIANTS = ["blocking", "offloaded", "partial"]


class Sort(Application):
    def test_all_kinds_and_places_of_keys(self):
        ranks = {"even": 3, "half": 4, "one": (4, 2)}
        kinds = ("uniform", "skewed", "equal", "few", "sorted", "reversed")
        for i, kind in enumerate(kinds):
            spread = list(ranks)[i % 3]
            with self.subTest(kind=kind, spread=spread):
                flags = ["--type", ("int64", "double")[i % 2], "--group", 2 + i % 3]
                runs = self.records(ranks[spread], "--keys", 5003, "--generate", kind, "--spread",
                                    spread, *flags, *["--unordered"][:i % 2])
                self.assertEqual([run["variant"] for run in runs], VARIANTS)
                for run in runs:
                    self.assertEqual((run["keys"], run["check"]), (5003, "passed"))
                    self.assertLessEqual(run["histograms"], 16)

    def test_fewer_keys_than_ranks(self):
        for keys in (0, 2):
            self.assertIn("check        passed", self.succeed(4, "--keys", keys, "--sizes", "same"))

    def test_a_file(self):
        """Of any length, read as both types, on any number of ranks."""
        source = self.folder / "keys"
        text = bytes((7 * i * i + i // 256) % 256 for i in range(4005))  # no whole number of keys
        source.write_bytes(text)
        for ranks, name, code in ((None, "int64", "q"), ((4, 2), "int64", "q"), (3, "double", "d")):
            out = self.folder / f"sorted.{name}"
            self.succeed(ranks, source, "--type", name, "--output", out)
            keys = array.array(code, text[:4000])
            if code == "d":  # nans are not ordered here
                self.assertEqual(sorted(array.array("q", out.read_bytes())),
                                 sorted(array.array("q", text[:4000])))
                numbers = [key for key in array.array("d", out.read_bytes()) if key == key]
                self.assertEqual(numbers, sorted(key for key in keys if key == key))
            else:
                self.assertEqual(list(array.array("q", out.read_bytes())), sorted(keys))

    def test_the_table(self):
        out = self.succeed(2, "--keys", 1000, "--repeat", 3, "--variant", "offloaded")
        self.assertRegex(out, r"(?m)^keys +1000 int64 \(uniform, seed 1\)$")
        self.assertRegex(out, r"(?m)^offloaded +\d+\.\d+ ms( +\d+\.\d+ ms +\d+ %){4}"
                              r" +0\.000 ms +\d+$")
        self.assertNotIn("blocking", out)

    def test_turns_of_exchange_and_merge(self):
        for group in (1, 2):
            runs = self.records(4, "--keys", 40000, "--exchanges", 5, "--group", group,
                                "--group-all", *["--unordered"][:group - 1])
            self.assertEqual([run["variant"] for run in runs], VARIANTS)
            for run in runs:
                self.assertEqual(run["check"], "passed")
                self.assertEqual(run["overlapped_s"] > 0, run["variant"] == "partial")
                self.assertLessEqual(run["overlapped_s"], run["merge_s"])
                self.assertGreaterEqual(run["exchange_and_merge_s"],
                                        max(run["exchange_s"], run["merge_s"]))
                self.assertGreaterEqual(run["total_s"], run["exchange_s"] + run["sort_s"])

    def test_progress_bar(self):
        result = self.run_ranks(2, "--keys", 100, "--repeat", 2, "--progress", "on")
        self.assertRegex(result.stderr, r"\[#+ *\] +\d+ %")
        self.assertEqual(self.run_ranks(2, "--keys", 100).stderr, "")


class BadInput(Application):
    def test_files(self):
        self.fail_with(1, "histogram_sort: nowhere: No such file", 3, "nowhere")
        self.fail_with(1, f"{self.folder}: is not a regular file", 2, self.folder)
        self.fail_with(1, "/nowhere/out: No such file", 3, "--keys", 10, "--output", "/nowhere/out")

    def test_command_line(self):
        self.fail_with(2, "--wrong", 3, "--wrong")
        self.fail_with(2, "--variant: fast not in", 2, "--variant", "fast")
        self.fail_with(2, "--keys", 2, "--keys", -1)
        self.fail_with(2, "--exchanges", 2, "--exchanges", 0)
        self.fail_with(2, "excludes", 2, "file", "--keys", 10)

    def test_help_is_printed_once(self):
        self.assertEqual(self.succeed(3, "--help").count("--spread"), 1)


if __name__ == "__main__":
    Application.launcher, Application.program = sys.argv[1], sys.argv[2]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
