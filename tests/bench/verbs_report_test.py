#!/usr/bin/env python3
"""verbs_report_test.py SOURCE_FOLDER: counts stand beside their minimum, in the tables of
bench/verbs and in the published ones, where nothing is below it."""
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(SOURCE / "bench" / "verbs"))
import report  # noqa: E402

KIB = 1 << 10


def row(task, over, memory, size, **counts):
    return {"program": "esp-verbs", "task": task, "over": over, "memory": memory, "bytes": size,
            "per_segment": dict.fromkeys(report.COUNTS, 0.0) | counts,
            "per_segment_peer": dict.fromkeys(report.COUNTS, 0.0) | {"arrivals": 17.0}}


class Minimum(unittest.TestCase):
    def check(self, *cell, **expected):
        found = report.least(*cell)
        self.assertEqual({name: found[name] for name in expected}, expected)

    def test_a_placed_segment_is_announced_and_not_copied(self):
        self.check("bandwidth", "sender", "rc", "registered", 64 * KIB,
                   sends=1, arrivals=0, copied_bytes=0)
        self.check("bandwidth", "receiver", "rc", "registered", 64 * KIB, sends=0, arrivals=1)
        self.check("latency", "", "rc", "registered", 64 * KIB, sends=2, arrivals=2, doorbells=2)

    def test_a_copied_one_is_copied_once_on_each_side(self):
        self.check("bandwidth", "sender", "rc", "copied", 64 * KIB,
                   sends=1, arrivals=0, copied_bytes=64 * KIB)
        self.check("latency", "", "rc", "registered", 8, sends=1, copied_bytes=16, doorbells=1)

    def test_datagrams_are_as_many_as_hold_it(self):
        self.check("bandwidth", "sender", "ud", "copied", 64 * KIB, sends=16, doorbells=0)
        self.check("bandwidth", "receiver", "ud", "copied", 64 * KIB, arrivals=16, sends=0)
        self.check("latency", "", "ud", "copied", 4097, sends=2)


class Table(unittest.TestCase):
    def test_every_count_has_its_minimum_beside_it(self):
        lines = report.counts_table([row("bandwidth", "ud", "copied", 64 * KIB, sends=17.0)])
        sender, receiver = (line.split(" | ") for line in lines[2:4])
        sends, arrivals = 5 + report.COUNTS.index("sends"), 5 + report.COUNTS.index("arrivals")
        self.assertEqual((sender[sends], receiver[arrivals]), ("17.00 (16)", "17.00 (16)"))
        for line in (sender, receiver):
            for cell in line[5:]:
                self.assertRegex(cell, r"^[0-9.]+ \([0-9]+\)( \|)?$")

    def test_published_counts_are_not_below_it(self):
        """But for the ends of a stream, which are counted once for all of its segments."""
        text = (SOURCE / "docs" / "results" / "verbs.md").read_text(encoding="utf-8")
        cells = re.findall(r"([0-9.]+) \(([0-9]+)\)", text.split("### Counts")[1].split("###")[0])
        self.assertGreater(len(cells), 100)
        for value, minimum in cells:
            self.assertGreaterEqual(float(value), 0.85 * float(minimum))


if __name__ == "__main__":
    unittest.main()
