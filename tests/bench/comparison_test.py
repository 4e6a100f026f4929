"""What is measured, when a library is left out and what a table comes to.
Usage: comparison_test.py BENCH_DIR"""

import pathlib
import subprocess
import sys
import types
import unittest

BENCH = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(BENCH / "driver"))

import aims  # noqa: E402
import analysis  # noqa: E402
import comparison  # noqa: E402
import launch  # noqa: E402
import report  # noqa: E402
from plan import BLOCKS, BUFFERS, COLLECTIVES, KIB, Plan, Step, make_plan  # noqa: E402


class Plans(unittest.TestCase):
    def ops(self, plan, ranks):
        return {op for step in plan.steps if step.ranks == ranks for op in step.ops}

    def test_a_full_run_measures_everything_with_both_kinds_of_buffers(self):
        plan = make_plan([2, 4, 8, 16], quick=False, smoke=False)
        for way in BUFFERS:
            for ranks in (2, 4, 8, 16):
                steps = [s for s in plan.steps if (s.ranks, s.buffers) == (ranks, way)]
                ops = {op for step in steps for op in step.ops}
                self.assertLessEqual({*COLLECTIVES, *BLOCKS}, ops, (way, ranks))
                for step in steps:
                    self.assertIn(8, step.sizes)
                    self.assertGreaterEqual(max(step.sizes), 256 * KIB)
                    self.assertIn(way, step.args())

    def test_a_quick_one_has_some_sizes_and_blocks_of_two_ranks(self):
        quick = make_plan([2, 4, 16], quick=True, smoke=False, buffers=BUFFERS[:1])
        self.assertLessEqual(set(BLOCKS), self.ops(quick, 2))
        self.assertFalse(set(BLOCKS) & (self.ops(quick, 4) | self.ops(quick, 16)))
        self.assertEqual({len(s.sizes) for s in quick.steps if "gather" in s.ops}, {2})
        self.assertEqual({s.buffers for s in quick.steps}, {"rewritten"})

    def test_operations_and_sizes_that_are_named(self):
        plan = make_plan([2, 8], False, False, ["gather"], [8, 64])
        self.assertEqual([(s.ranks, s.ops, s.sizes, s.buffers) for s in plan.steps],
                         [(n, ("gather",), (8, 64), b)
                          for b in ("rewritten", "reused") for n in (2, 8)])  # fmt: skip

    def test_a_launch_has_an_end_of_its_own_before_it_is_ended(self):
        for step in make_plan([2, 16], quick=False, smoke=False).steps:
            args = step.args()
            self.assertEqual(float(args[args.index("--limit-s") + 1]), round(step.rows_s(), 4))
            self.assertGreater(step.limit_s(), step.rows_s())
            self.assertGreater(step.rows_s(), step.slow_s())

    def test_a_barrier_is_one_cell(self):
        step = Step(2, ("barrier", "bcast"), (8, 64), 1.0, 3)
        self.assertEqual(step.cells(), [("barrier", 0), ("bcast", 8), ("bcast", 64)])


class Ends(unittest.TestCase):
    """Of a program that writes its JSON and stays."""

    def setUp(self):
        self.saved = launch.LOOK_S, launch.END_S
        launch.LOOK_S, launch.END_S = 0.1, 0.2

    def tearDown(self):
        launch.LOOK_S, launch.END_S = self.saved

    def run_one(self, text: str, stays_s: float, limit_s: float):
        program = ("import sys, time; open(sys.argv[-1], 'w').write(sys.argv[1]); "
                   f"time.sleep({stays_s})")  # fmt: skip
        return launch.run_json([sys.executable, "-c", program, text], limit_s)

    def test_what_is_complete_need_not_be_waited_for(self):
        with self.assertRaisesRegex(launch.TimedOut, "when done") as ended:
            self.run_one('{"rows": [], "complete": true}', 60, 50)
        self.assertEqual(ended.exception.partial, {"rows": [], "complete": True})

    def test_what_is_not_has_its_time(self):
        with self.assertRaisesRegex(launch.TimedOut, "within 2 s") as ended:
            self.run_one('{"rows": [1]}', 60, 2)
        self.assertEqual(ended.exception.partial, {"rows": [1]})

    def test_what_ends_is_returned(self):
        self.assertEqual(self.run_one('{"rows": [2]}', 0, 50), {"rows": [2]})


class Launching(unittest.TestCase):
    """Comparison, with launches that only say how long they took."""

    STEP = Step(8, ("bcast", "gather"), (8,), 1.0, 3)

    def run_all(self, seconds: dict, refused=(), failing=(), ended=(), rounds=5, deadline_s=1e9):
        """`seconds`: of a launch, by library."""
        clock = types.SimpleNamespace(now=0.0)

        def launch_one(command, _):
            name, = command
            clock.now += seconds[name]
            if name in failing:
                raise comparison.launch.LaunchError("no")
            rows = [{"op": op, "bytes": 8, "median_us": 1.0, "run_delay_share": 0, "correct": True,
                     "refusal": "over" if name in refused and op == "gather" else ""}
                    for op in self.STEP.ops]  # fmt: skip
            made = {"proximity_ns": {"before": 30, "after": 30}, "host": {"cpus": 2},
                    "load": {"wall_s": 1, "foreign_s": 0, "stolen_s": 0}}
            if name in ended:
                error = comparison.launch.TimedOut("did not end")
                error.partial = made | {"rows": rows[:1]}
                raise error
            return made | {"rows": rows}

        class Progress:
            def seconds(self):
                return clock.now

            def __call__(self, _):
                pass

            say = __call__

        backends = [types.SimpleNamespace(name=name, only_crowded=False, program=name,
                                          command=lambda *a, name=name: [name])
                    for name in seconds]  # fmt: skip
        real = comparison.launch.run_json, comparison.time
        comparison.launch.run_json = launch_one
        comparison.time = types.SimpleNamespace(monotonic=lambda: clock.now)
        try:
            plan = Plan((self.STEP,), rounds, 2, (), 1, 0)
            one = comparison.Comparison(backends, plan, 2, deadline_s, Progress())
            one.run()
        finally:
            comparison.launch.run_json, comparison.time = real
        return one

    def test_a_slow_library_has_two_launches_and_a_very_slow_one_one(self):
        slow = self.STEP.slow_s()
        one = self.run_all({"fast": 1, "slow": 1.1 * slow, "slowest": 5 * slow})
        self.assertEqual({n: len(x) for n, x in one.results[self.STEP].items()},
                         {"fast": 5, "slow": 2, "slowest": 1})  # fmt: skip
        self.assertEqual(one.rounds, 5)
        why = {out["library"]: out["why"] for out in one.left_out()}
        self.assertEqual(set(why), {"slow", "slowest"})
        self.assertIn("2 of 5 launches", why["slow"])
        self.assertIn(f"takes {5 * slow:.0f} s", why["slowest"])

    def test_rows_that_are_missing_are_told(self):
        one = self.run_all({"fast": 1, "late": 2 * self.STEP.slow_s()}, refused={"late"})
        self.assertEqual(len(one.results[self.STEP]["late"]), 1)
        (out,) = one.left_out()
        self.assertEqual((out["library"], out["ranks"], out["ops"]), ("late", 8, "bcast to gather"))
        self.assertIn("1 of 2 rows: over", out["why"])

    def test_a_failure_is_told_and_not_repeated(self):
        one = self.run_all({"fast": 1, "broken": 1}, failing={"broken"})
        self.assertEqual(len(one.failures), 1)
        self.assertEqual([out["why"] for out in one.left_out()], ["no; 0 launches before"])

    def test_what_a_launch_had_measured_is_kept_when_it_is_ended(self):
        one = self.run_all({"fast": 1, "stuck": 1}, ended={"stuck"}, rounds=1, deadline_s=0)
        (kept,) = one.results[self.STEP]["stuck"]
        self.assertEqual([row["op"] for row in kept["rows"]], ["bcast"])
        (out,) = one.left_out()
        self.assertIn("did not end, with 1 of 2 rows", out["why"])
        self.assertEqual(len(one.failures), 1)

    def test_the_first_round_is_whole_and_no_other_begins_after_the_end(self):
        one = self.run_all({"a": 10, "b": 10}, deadline_s=15)
        self.assertEqual({n: len(x) for n, x in one.results[self.STEP].items()}, {"a": 1, "b": 1})
        self.assertIn("1 of 5, time was up", one.rounds_text())
        self.assertEqual(one.left_out(), [])

    def test_what_is_left_out_stands_under_its_table(self):
        cells = [{**analysis.make_cell(ranks, "bcast", 8, {"espalier": 1.0, "p": 2.0}, "near", {},
                                       "espalier"), "buffers": way, "floor_us": None}
                 for way in BUFFERS for ranks in (4, 8)]  # fmt: skip
        out = [{"ranks": 8, "buffers": "reused", "library": "p", "ops": "bcast", "why": "slow"}]
        text = "\n".join(report.comparison_lines(cells, ["p"], "espalier", False, out))
        self.assertEqual(text.count("Left out: p, bcast: slow."), 1)
        last = text.split("8 ranks, us per call (CPUs: near), buffers reused")[1]
        self.assertIn("Left out", last)


class Aims(unittest.TestCase):
    def cell(self, op, us, best, size=8, floor=None):
        cell = analysis.make_cell(2, op, size, {"espalier": us, "p": best}, "near", {}, "espalier")
        return {**cell, "buffers": "rewritten", "floor_us": floor}

    def line(self, cells, ranks=2):
        return aims.line(cells, "espalier", ranks, report.human_size)

    def test_what_a_table_comes_to(self):
        cells = [self.cell("barrier", 3.0, 10.0, 0), self.cell("bcast", 10.5, 10.0),
                 self.cell("scan", 11.0, 10.0), self.cell("gather", 5.0, 10.0),
                 self.cell("scatter", 5.0, None)]  # fmt: skip
        line = self.line(cells)
        self.assertIn("4 cells, median ratio 0.78 (aim 0.6)", line)
        self.assertIn("worst 1.10 (scan 8 B), above 1.05: 1 (scan 8 B 1.10)", line)
        self.assertIn("1 more without a time to compare", line)
        self.assertNotIn("floor", line)

    def test_floors_count_from_256_kib_on_two_ranks(self):
        cells = [self.cell("bcast", 16.0, 20.0, 256 * KIB, 10.0),
                 self.cell("scan", 14.0, 20.0, 1024 * KIB, 10.0),
                 self.cell("reduce", 90.0, 100.0, 64 * KIB, 10.0)]  # fmt: skip
        told = "above 1.5 x the floor: 1 of 2, worst 1.60 (bcast 256 KiB)"
        self.assertIn(told, self.line(cells))
        self.assertNotIn("floor", self.line(cells, ranks=4))

    def test_nothing_to_compare(self):
        self.assertEqual(self.line([self.cell("bcast", 1.0, None)]),
                         "0 cells; 1 more without a time to compare.")  # fmt: skip

    def test_each_table_has_its_line(self):
        cells = [{**self.cell("bcast", us, 10.0), "buffers": way}
                 for way, us in (("rewritten", 5.0), ("reused", 20.0))]  # fmt: skip
        lines = report.comparison_lines(cells, ["p"], "espalier", True)
        totals = [line for line in lines if line.startswith("All: ")]
        self.assertEqual(len(totals), 2)
        self.assertIn("worst 0.50", totals[0])
        self.assertIn("worst 2.00", totals[1])


class Refusals(unittest.TestCase):
    def test_wrong_options_are_explained(self):
        run, nothing = BENCH / "run.sh", ["--build", "/nowhere"]  # what is not refused ends at once
        for args, words in ((["--buffers", "osu", *nothing], "rewritten, reused"),
                            (["--publish", "--buffers", "reused", *nothing], "--publish: of the"),
                            (["all", "--smoke", *nothing], "--publish and --smoke"),
                            (["nodes", "--ops", "gathers", *nothing], "not one of barrier"),
                            (["nodes", "--buffers", "osu", *nothing], "rewritten, reused"),
                            (["nodes", "--layouts", "2by1", *nothing], "nodes x ranks")):
            done = subprocess.run([run, *args], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, (args, done.stderr))
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
