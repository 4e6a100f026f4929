"""What the comparison between nodes makes of its launches. Usage: nodes_table_test.py BENCH_DIR"""

import pathlib
import sys
import unittest

BENCH = pathlib.Path(sys.argv.pop(1))
sys.path[:0] = [str(BENCH / "nodes"), str(BENCH / "driver")]

import cases  # noqa: E402
import least  # noqa: E402
import rounds  # noqa: E402
import table  # noqa: E402
from launchers import OURS, Layout  # noqa: E402
from plan import BLOCKS, BUFFERS, COLLECTIVES  # noqa: E402
from progress import Progress  # noqa: E402

MIB = 1 << 20
COSTS = {"floor": {"work": {MIB: 200.0}, "stream": {MIB: 90.0}}}


def cell(layout, op, **us):
    return table.make_cell(layout, op, MIB, {name: {0: time} for name, time in us.items()})


def make_launch(case, us, refused=(), line_ns=30.0):
    rows = [{"op": op, "bytes": size, "median_us": us, "correct": op not in refused,
             "refusal": "over" if op in refused else ""}
            for op, size in case.step.cells()]  # fmt: skip
    return {"library": "x", "rows": rows, "dealt": 0, "host": {"cpus": 2},
            "proximity_ns": {"before": line_ns, "after": line_ns},
            "load": {"wall_s": 1.0, "foreign_s": 0.0, "stolen_s": 0.0}}


def summary_of(launches, costs=None, left_out=()):
    costs = costs or {}
    return table.summarize(launches, 2, costs) | {
        "source": "s", "failures": [], "costs": costs, "repeated": 0, "rounds": "whole rounds: 1",
        "left_out": left_out, "missing": ["mpich: left out, it is not built"]}  # fmt: skip


class Cases(unittest.TestCase):
    def test_every_operation_on_every_layout_with_both_kinds_of_buffers(self):
        layouts = [Layout(2, 1), Layout(4, 2)]
        found = cases.make_cases(layouts, buffers=BUFFERS)
        for way in BUFFERS:
            for layout in layouts:
                ops = {op for case in found for op in case.step.ops
                       if (case.layout, case.step.buffers) == (layout, way)}  # fmt: skip
                self.assertLessEqual({*COLLECTIVES, *BLOCKS}, ops)
                self.assertEqual("p2p-latency" in ops, layout.ranks == 2)
        self.assertIn(256 << 10, cases.sizes_of(found))
        self.assertIn("reused", found[-1].step.args())
        self.assertEqual(len({str(case) for case in found}), len(found))

    def test_operations_and_sizes_that_are_named(self):
        found = cases.make_cases([Layout(2, 1)], ["scan", "barrier"], [8])
        self.assertEqual([(case.step.ops, case.step.sizes) for case in found],
                         [(("barrier",), (8,)), (("scan",), (8,))])
        self.assertEqual(cases.make_cases([Layout(4, 1)], ["p2p-latency"]), [])


class Least(unittest.TestCase):
    def test_transfers_between_nodes_shared_by_the_cores(self):
        four, two = Layout(4, 2), Layout(2, 1)
        for layout, op, cores, expected in (
            (four, "bcast", 2, 300),
            (four, "reduce", 2, 300),
            (four, "allreduce", 2, 600),
            (two, "bcast", 2, 100),
            (two, "bcast", 8, 100),
            (two, "allreduce", 1, 400),
        ):
            one = cell(layout, op, **{OURS: 1.0, "openmpi": 2.0})
            self.assertEqual(least.least_us(COSTS, one, cores), expected, (layout, op, cores))

    def test_a_stream_takes_its_time(self):
        costs = {"floor": {"work": {MIB: 200.0}, "stream": {MIB: 250.0}}}
        for nodes, op, expected in ((2, "bcast", 250), (2, "allreduce", 250), (4, "bcast", 300)):
            one = cell(Layout(nodes, 1), op, **{OURS: 1.0, "openmpi": 2.0})
            self.assertEqual(least.least_us(costs, one, 2), expected, (nodes, op))

    def test_not_measured_is_not_known(self):
        one = cell(Layout(2, 1), "bcast", **{OURS: 1.0, "openmpi": 2.0})
        self.assertIsNone(least.least_us({}, one, 2))

    def test_reused_buffers_have_none(self):
        one = table.make_cell(Layout(2, 1), "bcast", MIB, {OURS: {0: 1.0}}, "reused")
        self.assertIsNone(least.least_us(COSTS, one, 2))

    def test_blocks_between_nodes(self):
        for op, nodes, per_node, expected in (
            ("bcast", 4, 2, 3), ("scan", 2, 2, 1), ("gather", 2, 1, 1), ("gatherv", 4, 2, 6),
            ("gatherv-skewed", 4, 2, 1), ("scatter", 4, 1, 3), ("allgather", 2, 1, 2),
            ("allgather", 4, 2, 24), ("allgatherv", 2, 2, 3), ("allgatherv-skewed", 4, 2, 3),
            ("alltoall", 2, 2, 8), ("alltoall", 4, 2, 48), ("alltoallv", 2, 1, 2),
            ("alltoallv", 2, 2, 6), ("alltoallw", 2, 2, 6), ("alltoallv-skewed", 4, 2, 6),
            ("reduce_scatter", 2, 1, 2), ("reduce_scatter-skewed", 4, 2, 3),
            ("neighbor_allgather", 2, 1, 2), ("neighbor_alltoall", 2, 1, 4),
            ("neighbor_alltoall", 2, 2, 8), ("neighbor_allgather", 2, 2, 4),
        ):  # fmt: skip
            self.assertEqual(least.transfers(op, nodes, per_node), expected, (op, nodes, per_node))
        for op in BLOCKS:
            self.assertGreater(least.transfers(op, 2, 1), 0, op)

    def test_a_cell_without_a_peer_hides_no_other(self):
        cells = [
            cell(Layout(2, 1), "bcast", **{OURS: 150.0, "openmpi": 200.0}),
            cell(Layout(2, 1), "reduce", **{OURS: 150.0}),
        ]
        cells = [one | {"floor_us": least.least_us(COSTS, one, 2)} for one in cells]
        text = "\n".join(table.least_lines({"costs": COSTS, "cells": cells, "cores": 2}, True))
        self.assertIn("| 2 x 1 | bcast | 1.50 / 2.00 |", text)
        self.assertIn("| 2 x 1 | reduce | 1.50 / - |", text)


class Cell(unittest.TestCase):
    def test_is_met_by_the_aim_of_its_size(self):
        layout = Layout(2, 1)
        self.assertTrue(cell(layout, "bcast", **{OURS: 76.0, "openmpi": 100.0})["met"])
        self.assertFalse(cell(layout, "bcast", **{OURS: 78.0, "openmpi": 100.0})["met"])
        small = table.make_cell(layout, "bcast", 8, {OURS: {0: 104.0}, "openmpi": {0: 100.0}})
        self.assertTrue(small["met"])

    def test_the_best_peer_is_the_fastest(self):
        one = cell(Layout(2, 1), "bcast", **{OURS: 50.0, "mpich": 200.0, "openmpi": 100.0})
        self.assertEqual((one["best_peer"], one["ratio"]), ("openmpi", 0.5))


class Tables(unittest.TestCase):
    """One per way of buffers and layout, each with what it comes to."""

    def setUp(self):
        self.cases = cases.make_cases([Layout(2, 1), Layout(4, 1)], ["bcast", "scan", "barrier"],
                                      [8, MIB], BUFFERS)  # fmt: skip
        self.launches = {case: {OURS: [make_launch(case, 150.0)], "p": [make_launch(case, 100.0)]}
                         for case in self.cases}  # fmt: skip

    def test_each_has_its_line(self):
        summary = summary_of(self.launches, COSTS)
        for markdown in (False, True):
            totals = [line for line in table.render(summary, markdown).splitlines()
                      if line.startswith("All: ")]  # fmt: skip
            self.assertEqual(len(totals), 4)
            for line in totals:
                self.assertIn("5 cells, median ratio 1.50", line)
                self.assertIn("above 1.05: 5", line)
            floors = "above 1.5 x the floor: 0 of 2, worst 1.50 (bcast 1 MiB)"
            self.assertEqual([floors in line for line in totals], [True, False, False, False])

    def test_text_has_the_times_of_every_library(self):
        lines = table.render(summary_of(self.launches, COSTS), False).splitlines()
        (row, *_) = [line.split() for line in lines if line.split()[:2] == ["scan", "1"]]
        self.assertEqual(row, ["scan", "1", "MiB", "150.0", "100.0", "p", "1.50", "100.0", "1.50",
                               "!"])  # fmt: skip
        self.assertEqual(sum("buffers reused, us per call" in line for line in lines), 2)

    def test_rows_that_are_missing_have_no_time(self):
        case = self.cases[1]
        self.launches[case]["p"] = [make_launch(case, 100.0, refused={"scan"})]
        text = table.render(summary_of(self.launches), False)
        self.assertIn("2 more without a time to compare", text)
        self.assertIn("mpich: left out, it is not built", text)

    def test_who_was_left_out_stands_under_its_table(self):
        out = {"nodes": 4, "per_node": 1, "buffers": "reused", "library": "p", "ops": "scan",
               "why": "slow"}  # fmt: skip
        for markdown in (False, True):
            text = table.render(summary_of(self.launches, left_out=[out]), markdown)
            last = text.split("4 nodes, 1 rank each, buffers reused")[-1]
            self.assertEqual((text.count("Left out: p, scan: slow."), "p, scan: slow" in last),
                             (1, True))  # fmt: skip

    def test_a_slow_library_is_told(self):
        case = self.cases[0]
        args = type("Args", (), {"rounds": 6})
        library = type("Library", (), {"name": "p", "suits": lambda self, layout: True})()
        one = rounds.Comparison(args, [case], [library], None, Progress())
        one.launches[case]["p"] = [make_launch(case, 1.0)] * 2
        one._seconds[(case, "p")] = 2 * case.step.slow_s()
        one._launch(case, library, 2)  # starts nothing
        (out,) = one.left_out()
        self.assertEqual((out["library"], out["nodes"], out["buffers"]), ("p", 2, "rewritten"))
        self.assertIn("2 of 6 launches", out["why"])


if __name__ == "__main__":
    unittest.main()
