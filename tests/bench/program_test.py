"""Every mode of esp-bench, --smoke, two ranks. Usage: program_test.py BENCH_DIR BIN_DIR LIBRARY"""

import pathlib
import subprocess
import sys
import unittest

LIBRARY = sys.argv.pop(3)
BIN = pathlib.Path(sys.argv.pop(2))
sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "driver"))

import backends as known  # noqa: E402
import launch  # noqa: E402
import plan  # noqa: E402

CORES = 2  # so that two ranks are launched bound, as in a comparison


def find():
    found = known.find_backends(BIN, [LIBRARY], print)
    return found[0] if found else None


BACKEND = find()


@unittest.skipIf(BACKEND is None, f"{LIBRARY}: program or launcher is missing")
class Program(unittest.TestCase):
    def json(self, *args, ranks=2, cores=CORES):
        command = BACKEND.command(ranks, cores, str(BACKEND.program), [*args, "--smoke"])
        return launch.run_json(command, 120)

    def refused(self, *args):
        # Without a launcher: options are judged before the library is started.
        result = subprocess.run([BACKEND.program, *args], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2, result.stderr)
        return result.stderr

    def check_rows(self, result, ops):
        self.assertEqual({row["op"] for row in result["rows"]}, ops)
        for row in result["rows"]:
            self.assertTrue(row["correct"], row)
            self.assertGreater(row["median_us"], 0, row)
            self.assertGreaterEqual(row["p99_us"], row["median_us"], row)
            self.assertGreaterEqual(row["median_us"], row["min_us"], row)

    ALL_OPS = {"barrier", "bcast", "reduce", "allreduce", "p2p-latency", "p2p-bandwidth"}

    def test_all_operations(self):
        result = self.json()
        self.assertEqual(result["ranks"], 2)
        self.assertEqual(len(result["placement"]), 2)
        self.assertTrue(result["one_machine"])
        self.assertGreater(result["load"]["wall_s"], 0)
        self.check_rows(result, self.ALL_OPS)

    def test_more_ranks_than_cores_and_an_odd_size(self):
        self.check_rows(self.json("--bytes", "4,100,20K", ranks=3), self.ALL_OPS)

    @unittest.skipIf(LIBRARY != known.OURS, "the others have no choices")
    def test_sweeps_and_refusals(self):
        swept = self.json("--op", "bcast,alltoall", "--sweep", "--segment", "16K", "--bytes", "4K")
        self.check_rows(swept, {"bcast", "alltoall"})
        choices = {row["choice"].split()[0] for row in swept["rows"] if row["op"] == "alltoall"}
        self.assertEqual(choices, {"tree", "ring", "bruck", "one-factor", "xor"})
        refused = self.json("--op", "bcast", "--algorithm", "short,ring", "--started")["rows"]
        reasons = {row["refusal"] for row in refused}
        self.assertEqual(reasons, {"esp_bcast_start: the short path has no plan",
                                   "esp_bcast_start: bcast has no ring algorithm"})

    BLOCKS = set(plan.BLOCKS)  # and scans

    def test_blocks_and_scans(self):
        ops = ["--op", ",".join(self.BLOCKS), "--bytes", "4,100,20K"]
        for ranks in (1, 2, 3, 4):  # of neighbours: themselves, twice one, a ring, a grid
            result = self.json(*ops, ranks=ranks)
            self.check_rows(result, self.BLOCKS)
            self.assertEqual(len(result["rows"]), len(self.BLOCKS) * 3)
            self.assertEqual(result["buffers"], "rewritten")

    def test_a_launch_ends_when_its_time_is_over(self):
        ops = ["--op", "barrier,scan,allgather", "--bytes", "8,100"]
        for ranks in (2, 3):
            first, *others = self.json(*ops, "--limit-s", "0.000001", ranks=ranks)["rows"]
            self.assertTrue(first["correct"] and not first["refusal"], first)
            self.assertEqual([(row["op"], row["bytes"]) for row in others],
                             [(op, size) for op in ("scan", "allgather") for size in (8, 100)])
            for row in others:
                self.assertIn("used its 1e-06 s", row["refusal"])
                self.assertFalse(row["correct"])
        self.check_rows(self.json(*ops, "--limit-s", "100"), {"barrier", "scan", "allgather"})

    @unittest.skipIf(LIBRARY != known.OURS, "launchers of others may leave ranks behind")
    def test_rows_are_there_when_a_launch_is_ended(self):
        command = BACKEND.command(2, CORES, str(BACKEND.program), [
            "--op", "bcast,scan,reduce,gather,scatter", "--bytes", "8,16,32,64,128,256,512,1K",
            "--budget-ms", "500", "--samples-max", "100000", "--limit-s", "100"])  # fmt: skip
        with self.assertRaises(launch.TimedOut) as ended:
            launch.run_json(command, 8)
        rows = ended.exception.partial["rows"]
        self.assertTrue(0 < len(rows) < 40, rows)
        self.assertTrue(rows[0]["correct"])

    def test_buffers_that_are_reused(self):
        ops = self.ALL_OPS | self.BLOCKS
        result = self.json("--op", ",".join(ops), "--bytes", "100,20K", "--buffers", "reused")
        self.check_rows(result, ops)
        self.assertEqual(result["buffers"], "reused")
        self.assertGreater(max(row["batch"] for row in result["rows"]), 1)

    def test_other_and_rotating_roots(self):
        ops = {"bcast", "reduce", "gather", "gatherv", "gatherv-skewed", "scatter", "scatterv"}
        for root, ranks in (("1", 2), ("2", 3), ("rotate", 3)):
            self.check_rows(self.json("--op", ",".join(ops), "--root", root, ranks=ranks), ops)

    def test_proximity_is_measured_where_there_are_two_cpus(self):
        result = self.json("--op", "barrier")
        cpus = {rank["affinity"] for rank in result["placement"]}
        if len(cpus) == 2:
            self.assertGreater(result["proximity_ns"]["before"], 0)
            self.assertGreater(result["proximity_ns"]["after"], 0)

    def test_floors(self):
        floors = launch.run_json([BACKEND.program, "floors", "--smoke"], 60)["floors"]
        names = {floor["name"] for floor in floors}
        self.assertLessEqual({"copy", "add", "yield-hop", "futex-same"}, names)
        for floor in floors:
            self.assertTrue(floor["median_us"] > 0 or floor["note"], floor)

    def test_memory(self):
        stages = self.json("memory")["memory"]
        self.assertEqual([stage["stage"] for stage in stages][:2], ["before", "joined"])
        for stage in stages:
            self.assertEqual(len(stage["rss_kib"]), 2)
            self.assertGreater(min(stage["rss_kib"]), 0)

    @unittest.skipIf(LIBRARY != known.OURS, "of others it is hardly more than they have at first")
    def test_memory_after_named_operations(self):
        def grown(op):
            stages = self.json("memory", "--op", op)["memory"]
            return max(stages[-1]["rss_kib"]) - max(stages[1]["rss_kib"])

        self.assertGreater(grown("alltoall"), grown("barrier") + 1024)

    def test_idle(self):
        idle = self.json("idle")["idle"]
        self.assertEqual(idle["sleeper"], 1)
        self.assertGreater(idle["waited_s"][0], 0.15)

    def test_init_and_calls(self):
        self.assertEqual(self.json("init")["mode"], "init")
        self.assertEqual(self.json("calls", "--op", "bcast", "--late", "1")["mode"], "calls")

    def test_wrong_options_are_explained(self):
        self.assertIn("multiples of 4", self.refused("--bytes", "7"))
        self.assertIn("allreduce", self.refused("--op", "gathers"))
        self.assertIn("--root", self.refused("--root", "first"))
        self.assertIn("--bogus", self.refused("--bogus"))
        self.assertIn("floors", self.refused("flors"))
        self.assertIn("rotate", self.refused("--buffers", "reused", "--root", "rotate"))
        self.assertIn("mode ops", self.refused("memory", "--buffers", "reused"))
        self.assertIn("--samples-min", self.refused("--samples-min", "9", "--samples-max", "3"))
        self.assertIn("--limit-s", self.refused("--limit-s", "0"))

    def test_a_rank_that_is_not_there(self):
        with self.assertRaisesRegex(launch.LaunchError, "not a rank of this job"):
            self.json("--root", "5")

    def test_json_that_cannot_be_written(self):
        command = [BACKEND.program, "floors", "--smoke", "--json", "/nowhere/x.json"]
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nowhere/x.json", result.stderr)

    @unittest.skipIf(LIBRARY == known.OURS, "Espalier has choices")
    def test_an_mpi_has_no_choices(self):
        self.assertIn("Espalier", self.refused("--shape", "chain"))
        self.assertIn("Espalier", self.refused("--alloc", "esp"))
        self.assertIn("Espalier", self.refused("--alloc", "device"))
        self.assertIn("Espalier", self.refused("--op", "put-latency"))

    @unittest.skipIf(LIBRARY != known.OURS, "choices are Espalier's own")
    def test_a_sweep_has_no_limit(self):
        self.assertIn("--sweep", self.refused("--sweep", "--limit-s", "1"))

    @unittest.skipIf(LIBRARY != known.OURS, "choices are Espalier's own")
    def test_choices(self):
        result = self.json("--op", "bcast", "--algorithm", "tree", "--shape", "chain,binomial",
                           "--segment", "4K", "--bytes", "64K", ranks=3)  # fmt: skip
        self.assertEqual(len(result["rows"]), 2)
        self.assertEqual({row["choice"] for row in result["rows"]},
                         {"tree chain segment=4096", "tree binomial segment=4096"})  # fmt: skip
        self.check_rows(result, {"bcast"})

    @unittest.skipIf(LIBRARY != known.OURS, "choices are Espalier's own")
    def test_choices_of_gathers(self):
        algorithms = {
            "allgather": {"tree", "publish", "ring", "bruck"},
            "allgatherv": {"tree", "publish", "ring", "bruck"},
            "alltoall": {"tree", "ring", "bruck", "one-factor"},
            "alltoallv": {"ring", "one-factor"},
            "scan": {"ring", "doubling"},
            "exscan": {"ring", "doubling"},
            "gather": {"tree", "linear"},
            "gatherv-skewed": {"linear"},
            "scatter": {"tree", "linear"},
            "alltoallw": {"ring", "one-factor"},
            "reduce_scatter": {"spread"},
            "reduce_scatter-skewed": {"spread"},
            "neighbor_allgather": {"publish", "linear"},
            "neighbor_alltoall": {"linear"},
        }
        every = sorted(set().union(*algorithms.values(), {"xor"}))
        # Partners at powers of two are for teams of 2^n members.
        for ranks, more in ((3, {}), (4, {"allgather": {"doubling"}, "allgatherv": {"doubling"},
                                          "alltoall": {"xor"}, "alltoallv": {"xor"},
                                          "alltoallw": {"xor"}})):  # fmt: skip
            rows = self.json("--op", ",".join(algorithms), "--bytes", "1000", "--algorithm",
                             ",".join(every), ranks=ranks)["rows"]  # fmt: skip
            for op, known_ones in algorithms.items():
                mine = [row for row in rows if row["op"] == op]
                self.assertEqual(len(mine), len(every))
                self.assertEqual({row["choice"] for row in mine if not row["refusal"]},
                                 known_ones | more.get(op, set()), op)  # fmt: skip
            for row in rows:
                self.assertTrue(row["refusal"] or row["correct"], row)

    @unittest.skipIf(LIBRARY != known.OURS, "esp_alloc is Espalier's own")
    def test_buffers_of_the_library(self):
        self.check_rows(self.json("--alloc", "esp"), self.ALL_OPS)
        ops = ["--op", ",".join(self.BLOCKS), "--bytes", "100,20K"]
        self.check_rows(self.json("--alloc", "esp", *ops, ranks=3), self.BLOCKS)

    ONE_SIDED = {"put-latency", "put-bandwidth", "get-latency", "get-bandwidth",
                 "fetch-add-latency", "fetch-add-rate", "am-latency", "am-rate"}  # fmt: skip

    @unittest.skipIf(LIBRARY != known.OURS, "Espalier's own")
    def test_operations_of_one_side(self):
        ops = ["--op", ",".join(self.ONE_SIDED), "--bytes", "8,100,4K"]
        for ranks, more in ((2, []), (2, ["--buffers", "reused"]), (3, ["--alloc", "esp"])):
            result = self.json(*ops, *more, ranks=ranks)
            self.check_rows(result, self.ONE_SIDED)
            self.assertEqual(len(result["rows"]), 6 * 3 + 2)

    @unittest.skipIf(LIBRARY != known.OURS, "Espalier's own")
    def test_operations_of_one_side_between_nodes(self):
        # Where the target must drive progress.
        command = [BIN / "esp-run", "-n", "2", "--nodes", "2", BACKEND.program, "--smoke", "--op",
                   ",".join(self.ONE_SIDED), "--bytes", "8,4K"]  # fmt: skip
        self.check_rows(launch.run_json(command, 120), self.ONE_SIDED)

    def test_a_comparison_leaves_out_no_operation(self):
        known_ones = self.refused("--op", "nothing").split("{")[1].split("}")[0].split(",")
        self.assertEqual(set(known_ones), {*plan.COLLECTIVES, *plan.POINT_TO_POINT, *plan.BLOCKS,
                                           *self.ONE_SIDED})  # fmt: skip

    @unittest.skipIf(LIBRARY != known.OURS, "Espalier's own")
    def test_messages_that_are_too_long(self):
        rows = self.json("--op", "am-latency,am-rate", "--bytes", "1M")["rows"]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertIn("messages have at most", row["refusal"])


if __name__ == "__main__":
    unittest.main()
