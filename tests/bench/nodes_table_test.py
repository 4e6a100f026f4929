"""What the comparison between nodes makes of its launches. Usage: nodes_table_test.py BENCH_DIR"""

import pathlib
import sys
import unittest

BENCH = pathlib.Path(sys.argv.pop(1))
sys.path[:0] = [str(BENCH / "nodes"), str(BENCH / "driver")]

import table  # noqa: E402
from launchers import OURS, Layout  # noqa: E402

MIB = 1 << 20
COSTS = {"floor": {"work": {MIB: 200.0}, "stream": {MIB: 90.0}}}


def cell(layout, op, **us):
    return table.make_cell(layout, op, MIB, {name: {0: time} for name, time in us.items()})


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
            self.assertEqual(table.least_us(COSTS, one, cores), expected, (layout, op, cores))

    def test_a_stream_takes_its_time(self):
        costs = {"floor": {"work": {MIB: 200.0}, "stream": {MIB: 250.0}}}
        for nodes, op, expected in ((2, "bcast", 250), (2, "allreduce", 250), (4, "bcast", 300)):
            one = cell(Layout(nodes, 1), op, **{OURS: 1.0, "openmpi": 2.0})
            self.assertEqual(table.least_us(costs, one, 2), expected, (nodes, op))

    def test_not_measured_is_not_known(self):
        one = cell(Layout(2, 1), "bcast", **{OURS: 1.0, "openmpi": 2.0})
        self.assertIsNone(table.least_us({}, one, 2))

    def test_a_cell_without_a_peer_hides_no_other(self):
        cells = [
            cell(Layout(2, 1), "bcast", **{OURS: 150.0, "openmpi": 200.0}),
            cell(Layout(2, 1), "reduce", **{OURS: 150.0}),
        ]
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


if __name__ == "__main__":
    unittest.main()
