"""Which launches count, and what the comparison makes of them. Usage: analysis_test.py BENCH_DIR"""

import json
import pathlib
import sys
import unittest

BENCH = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(BENCH / "driver"))

import analysis  # noqa: E402
import report  # noqa: E402
from plan import BLOCKS, Step, make_plan  # noqa: E402


def make_launch(us, before=30.0, after=30.0, foreign=0.0, delay=0.0, correct=True):
    row = {"op": "bcast", "bytes": 8, "median_us": us, "run_delay_share": delay, "correct": correct}
    return {
        "library": "x",
        "host": {"cpus": 2},
        "proximity_ns": {"before": before, "after": after},
        "load": {"wall_s": 1.0, "foreign_s": foreign, "stolen_s": 0.0},
        "rows": [row],
    }


def make_floors(**us):
    rows = [{"name": n.replace("_", "-"), "bytes": 0, "samples": 3, "median_us": t}
            for n, t in us.items()]  # fmt: skip
    return analysis.Floors([{"floors": rows}])


class Launches(unittest.TestCase):
    def test_moved_when_the_line_time_changes(self):
        self.assertTrue(analysis.is_moved(make_launch(1, before=30, after=160)))
        self.assertFalse(analysis.is_moved(make_launch(1, before=30, after=35)))

    def test_not_measured_is_not_moved(self):
        self.assertFalse(analysis.is_moved(make_launch(1, before=0, after=30)))

    def test_noisy_when_others_use_the_cpus(self):
        self.assertTrue(analysis.is_noisy(make_launch(1, foreign=0.2)))
        self.assertFalse(analysis.is_noisy(make_launch(1, foreign=0.05)))

    def test_dirty_launches_count_only_where_there_is_no_other(self):
        kept, tag = analysis.usable(
            {"a": [make_launch(1), make_launch(9, foreign=1.0)], "b": [make_launch(5, foreign=1)]},
            80,
        )
        self.assertEqual([x["rows"][0]["median_us"] for x in kept["a"]], [1])
        self.assertEqual(len(kept["b"]), 1)
        self.assertEqual(tag, "near")

    def test_near_is_compared_with_near(self):
        far = dict(before=160, after=160)
        kept, tag = analysis.usable(
            {"a": [make_launch(1), make_launch(4, **far)],
             "b": [make_launch(7, **far), make_launch(8, **far)]}, 80)  # fmt: skip
        self.assertEqual(tag, "far")
        self.assertEqual([x["rows"][0]["median_us"] for x in kept["a"]], [4])


class Cells(unittest.TestCase):
    def test_median_over_launches(self):
        launches = [make_launch(us) for us in (1, 2, 50)]
        self.assertEqual(analysis.cell_us(launches, "bcast", 8, crowded=False), 2)

    def test_wrong_results_have_no_time(self):
        launches = [make_launch(1, correct=False)]
        self.assertIsNone(analysis.cell_us(launches, "bcast", 8, crowded=False))

    def test_delayed_rows_are_left_out_unless_crowded(self):
        launches = [make_launch(1), make_launch(9, delay=0.5), make_launch(9, delay=0.5)]
        self.assertEqual(analysis.cell_us(launches, "bcast", 8, crowded=False), 1)
        self.assertEqual(analysis.cell_us(launches, "bcast", 8, crowded=True), 9)

    def test_verdicts(self):
        self.assertEqual(analysis.verdict(4, 10, 0.5), "hit")
        self.assertEqual(analysis.verdict(8, 10, 0.5), "ahead")
        self.assertEqual(analysis.verdict(11, 10, 0.5), "MISS")
        self.assertEqual(analysis.verdict(11, 10, None), "MISS")
        self.assertEqual(analysis.verdict(9, 10, None), "hit")
        self.assertEqual(analysis.verdict(None, 10, 0.5), "")

    def test_compare_finds_the_best_peer_and_the_target(self):
        step = Step(2, ("bcast",), (8,), 1.0, 3)
        results = {step: {"espalier": [make_launch(0.5)], "p": [make_launch(1)],
                          "q": [make_launch(2)]}}  # fmt: skip
        targets = {"near_ns": 80, "cells": [
            {"ranks": 2, "op": "bcast", "bytes": 8, "peer_us": 2.0, "target_us": 1.2}]}  # fmt: skip
        (cell,) = analysis.compare(results, make_floors(line=0.1), targets, "espalier", 2)
        self.assertEqual(cell["best_peer"], "p")
        self.assertEqual(cell["ratio"], 0.5)
        self.assertEqual(cell["verdict"], "hit")
        self.assertIn("hit", "\n".join(report.comparison_lines([cell], ["p"], "espalier", False)))

    def test_reused_buffers_are_a_table_without_targets_and_floors(self):
        steps = [Step(2, ("bcast",), (8,), 1.0, 3, buffers) for buffers in ("rewritten", "reused")]
        results = {step: {"espalier": [make_launch(us)], "p": [make_launch(2)]}
                   for step, us in zip(steps, (1, 4))}  # fmt: skip
        targets = {"near_ns": 80, "cells": [
            {"ranks": 2, "op": "bcast", "bytes": 8, "peer_us": 2.0, "target_us": 1.2}]}  # fmt: skip
        floors = make_floors(line=0.1)
        ours, osus = analysis.compare(results, floors, targets, "espalier", 2)
        self.assertEqual((ours["target_ratio"], osus["target_ratio"]), (0.6, None))
        self.assertIsNone(osus["floor_us"])
        self.assertEqual((ours["verdict"], osus["verdict"]), ("hit", "MISS"))
        lines = report.comparison_lines([osus, ours], ["espalier", "p"], "espalier", False)
        titles = [line for line in lines if "2 ranks" in line]
        self.assertEqual([title.endswith("buffers reused") for title in titles], [False, True])


class Shortfalls(unittest.TestCase):
    def cell(self, us, floor, target_ratio=0.5, best=10.0):
        return {"us": {"espalier": us}, "best_peer_us": best, "floor_us": floor,
                "target_ratio": target_ratio,
                "verdict": analysis.verdict(us, best, target_ratio)}  # fmt: skip

    def test_a_hit_needs_no_reason(self):
        self.assertEqual(analysis.shortfall(self.cell(4, 1), "espalier"), "")

    def test_a_floor_above_the_aim_is_out_of_reach(self):
        text = analysis.shortfall(self.cell(8, 6), "espalier")
        self.assertIn("out of reach here: the floor is 0.60", text)

    def test_a_floor_below_the_aim_is_within_reach(self):
        text = analysis.shortfall(self.cell(8, 4), "espalier")
        self.assertIn("within reach", text)
        self.assertIn("2.0 x the floor", text)


class FloorFormulas(unittest.TestCase):
    def test_barrier(self):
        floors = make_floors(line=0.03, yield_hop=1.4)
        self.assertAlmostEqual(floors.of("barrier", 2, 0, 2), 0.03)
        self.assertAlmostEqual(floors.of("barrier", 16, 0, 2), 1.4 * 8)

    def test_the_lowest_of_several_launches(self):
        rows = [{"name": "line", "bytes": 0, "samples": 3, "median_us": us} for us in (0.2, 0.1)]
        floors = analysis.Floors([{"floors": [row]} for row in rows])
        self.assertEqual(floors.us("line"), 0.1)
        self.assertEqual(len(floors.all()), 1)

    def test_blocks_of_two_ranks(self):
        us = {"line": 1.0, "yield-hop": 9.0, "copy-peer": 20.0, "copy": 10.0, "add-peer": 40.0,
              "add": 30.0}  # fmt: skip
        rows = [{"name": name, "bytes": 0 if name in ("line", "yield-hop") else 64, "samples": 3,
                 "median_us": time} for name, time in us.items()]  # fmt: skip
        floors = analysis.Floors([{"floors": rows}])
        for op, least in {"allgather": 31, "gatherv": 21, "scatter": 21, "alltoallv": 21,
                          "neighbor_alltoall": 41, "reduce_scatter-skewed": 41, "scan": 41,
                          "exscan": 21}.items():  # fmt: skip
            self.assertEqual(floors.of(op, 2, 64, 2), least, op)
        for op in BLOCKS:
            self.assertGreater(floors.of(op, 2, 64, 2), us["copy-peer"], op)
            self.assertIsNone(floors.of(op, 4, 64, 2), op)
        self.assertIsNone(floors.of("put-latency", 2, 64, 2))

    def test_unknown_floors_are_none(self):
        self.assertIsNone(make_floors(yield_hop=1.0).of("barrier", 2, 0, 2))
        self.assertIsNone(make_floors(line=1.0, yield_hop=1.0).of("bcast", 2, 64, 2))


class Files(unittest.TestCase):
    def test_targets_are_cells_that_the_plan_measures(self):
        targets = json.loads((BENCH / "targets.json").read_text())
        measured = {
            (step.ranks, op, size if op != "barrier" else 0)
            for step in make_plan([2, 4, 8, 16], quick=False, smoke=False).steps
            for op in step.ops
            for size in step.sizes
        }
        for cell in targets["cells"]:
            self.assertIn((cell["ranks"], cell["op"], cell["bytes"]), measured)
            self.assertLessEqual(cell["target_us"], cell["peer_us"])


if __name__ == "__main__":
    unittest.main()
