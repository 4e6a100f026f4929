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


class Aims(unittest.TestCase):
    def test_cells_with_an_aim_are_counted(self):
        lines = ["| RC | 8 B | 28.3 | 117.5 | 24.9 | 1.19 | 26.3 / 22.0 = 1.19 | - | - | - |",
                 f"| put | 8 B | 52.6 us | - | {report.verdict(1.31, False)} | 0.93 |"]
        self.assertEqual(report.aims(lines), "Aims met in 2 of 3 cells.")


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

    def test_puts_and_gets_are_one_operation_of_the_adapter(self):
        self.check("put-stream", "origin", "rc", "registered", 64 * KIB,
                   sends=1, doorbells=0, copied_bytes=0)
        self.check("get", "origin", "rc", "registered", 8,
                   sends=1, doorbells=1, send_completions=1, arrivals=0, copied_bytes=0)

    def test_memory_of_the_cache_is_as_good_as_registered(self):
        self.check("bandwidth", "sender", "rc", "cached", 64 * KIB, sends=1, copied_bytes=0)

    def test_datagrams_are_as_many_as_hold_it(self):
        self.check("bandwidth", "sender", "ud", "copied", 64 * KIB, sends=16, doorbells=0)
        self.check("bandwidth", "receiver", "ud", "copied", 64 * KIB, arrivals=16, sends=0)
        self.check("latency", "", "ud", "copied", 4097, sends=2)


def access(program, task, **figures):
    return {"program": program, "task": task, "over": "rc", "memory": "registered",
            "bytes": 64 * KIB, **figures}


class Access(unittest.TestCase):
    def cells(self, rows):
        return report.access_table(rows)[2].strip("| ").split(" | ")

    def test_a_get_is_held_against_a_read(self):
        rows = [access("esp-verbs", "get", median_us=30.0, window=1),
                access("ib_read_lat", "get", median_us=20.0)]
        self.assertEqual(self.cells(rows)[2:],
                         ["30.0 us", "ib_read_lat: 20.0", "1.50 **missed**"])

    def test_a_stream_of_puts_is_held_against_writes(self):
        rows = [access("esp-verbs", "put-stream", mib_per_s=95.0, window=16),
                access("ib_write_bw", "put-stream", mib_per_s=100.0)]
        self.assertEqual(self.cells(rows)[2:], ["95.0 MiB/s", "ib_write_bw: 100.0", "0.95"])

    def test_a_ratio_is_the_median_of_those_of_the_rounds(self):
        """Each machine's slow minute is in both."""
        rows = [access(program, "get", round=number, window=1, median_us=us)
                for number, ours, theirs in ((0, 12.0, 10.0), (1, 33.0, 30.0), (2, 13.0, 10.0))
                for program, us in (("esp-verbs", ours), ("ib_read_lat", theirs))]
        self.assertEqual(self.cells(rows)[2:], ["13.0 us", "ib_read_lat: 10.0", "1.20"])

    def test_nothing_is_beside_a_single_put(self):
        rows = [access("esp-verbs", "put", median_us=9.0, window=1)]
        self.assertEqual(self.cells(rows)[3:], ["-", "-"])

    def test_late_messages_are_read_or_sent(self):
        rows = [access("esp-verbs", "late", read=way, mib_per_s=rate,
                       per_segment={"copied_bytes": copied})
                for way, rate, copied in ((True, 60.0, 0.0), (False, 40.0, 65536.0))]
        self.assertIn("| 64 KiB | 60.0 | 40.0 | 1.50 | 0 / 65536 |", report.late_table(rows))


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
