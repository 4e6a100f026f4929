"""esp-bench on memory of a device, and bench/device.sh --smoke, on the played driver; and what its
page makes of figures. Usage: device_test.py BENCH_DIR BUILD_DIR PLAYED_DRIVER"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PLAYED = sys.argv.pop(3)
BUILD = pathlib.Path(sys.argv.pop(2))
BENCH = pathlib.Path(sys.argv.pop(1))
sys.path[:0] = [str(BENCH / "device"), str(BENCH / "driver")]

import lanes  # noqa: E402
import launch  # noqa: E402
import page  # noqa: E402
import plan  # noqa: E402

PROGRAM = BUILD / "bin" / "esp-bench"
os.environ["ESPALIER_CUDA_DRIVER"] = PLAYED


class Program(unittest.TestCase):
    def job(self, ranks, *args):
        command = [BUILD / "bin" / "esp-run", "-n", ranks, PROGRAM, "--alloc", "device", "--smoke"]
        return launch.run_json([*command, *args], 120)

    def refused(self, *args, **environment):
        result = subprocess.run([PROGRAM, *args, "--alloc", "device"], capture_output=True,
                                text=True, env=os.environ | environment)
        return result.returncode, result.stderr

    def check_rows(self, result, ops, sizes):
        self.assertTrue(result["device"]["played"])
        self.assertIn("Played", result["device"]["name"])
        self.assertEqual({row["op"] for row in result["rows"]}, set(ops))
        self.assertEqual(len(result["rows"]), len(ops) * sizes)
        for row in result["rows"]:
            self.assertTrue(row["correct"] and not row["refusal"], row)

    def test_collectives_and_messages(self):
        ops = ["bcast", "reduce", "allreduce", "p2p-latency", "p2p-bandwidth"]
        self.check_rows(self.job(2, "--op", ",".join(ops)), ops, 2)
        more = ["--buffers", "reused", "--offset", "16", "--bytes", "100,300K"]
        self.check_rows(self.job(3, "--op", ",".join(ops), *more), ops, 2)

    def test_blocks_and_scans(self):
        ops = plan.BLOCKS
        result = self.job(3, "--op", ",".join(ops), "--bytes", "4,20K")
        self.check_rows(result, ops, 2)

    def test_floors_are_copies_of_the_driver(self):
        result = launch.run_json([PROGRAM, "floors", "--alloc", "device", "--smoke"], 60)
        self.assertTrue(result["device"]["played"])
        self.assertEqual({floor["name"] for floor in result["floors"]},
                         {"to-device", "to-host", "both-ways", "on-device"})
        for floor in result["floors"]:
            self.assertGreater(floor["median_us"], 0, floor)

    def test_the_table_says_that_it_is_played(self):
        said = subprocess.run([PROGRAM, "floors", "--alloc", "device", "--smoke"], text=True,
                              capture_output=True, check=True).stdout
        self.assertIn("it is PLAYED, and no figure means anything", said.splitlines()[0])

    def test_no_driver_and_no_device(self):
        code, said = self.refused("floors", ESPALIER_CUDA_DRIVER="/nowhere/libcuda.so.1")
        self.assertEqual(code, 1)
        self.assertIn("/nowhere/libcuda.so.1", said)
        code, said = self.refused("floors", PLAYED_CUDA_DEVICES="0")
        self.assertEqual(code, 1)
        self.assertIn("no CUDA-capable device is detected", said)
        code, said = self.refused("--op", "put-latency")
        self.assertEqual(code, 2)
        self.assertIn("not with --alloc device", said)

    def test_who_fails_alone_is_heard(self):
        failing = ["sh", BENCH.parent / "tests" / "device" / "jobs" / "broken.sh", "cuMemAlloc:4:2"]
        with self.assertRaisesRegex(launch.LaunchError, "cuMemAlloc: out of memory"):
            launch.run(["env", "BROKEN_RANK=1", BUILD / "bin" / "esp-run", "-n", 3, *failing,
                        PROGRAM, "--alloc", "device", "--smoke"], 60)


class Script(unittest.TestCase):
    def test_smoke(self):
        with tempfile.TemporaryDirectory() as out:
            launch.run([BENCH / "device.sh", BUILD, out, "--smoke"], 200)
            measured = json.loads((pathlib.Path(out) / "gpu.json").read_text())
            text = (pathlib.Path(out) / "gpu.md").read_text()
        self.assertIn("**No figure on this page means anything.**", text.split("\n\n")[1])
        for rows in measured["calls"].values():
            self.assertEqual({row["op"] for row in rows if row["correct"]} - {"p2p-latency",
                             "p2p-bandwidth"}, {"allreduce", "reduce", "bcast", "allgather"})
        self.assertIn("## Small calls", text)
        self.assertIn("## Large calls", text)
        # Nothing but what is not here is left out, and this is said.
        absent = ("neither Open MPI nor MPICH", "esp-device-kernels is not", "without kernels")
        for why in measured["missing"]:
            self.assertTrue(any(words in why for words in absent), why)
            self.assertIn(why, text)
        self.assertEqual(bool(measured["kernels"]), "## Reduction kernels" in text)
        self.assertEqual(bool(measured["staged"]), "## An MPI staged by hand" in text)

    def test_no_device(self):
        with tempfile.TemporaryDirectory() as out:
            result = subprocess.run([BENCH / "device.sh", BUILD, out, "--smoke"], text=True,
                                    capture_output=True, check=False,
                                    env=os.environ | {"PLAYED_CUDA_DEVICES": "0"})
            self.assertEqual(result.returncode, 1)
            self.assertIn("no CUDA-capable device", result.stderr)
            self.assertEqual(os.listdir(out), [])

    def test_usage(self):
        self.assertEqual(subprocess.run([BENCH / "device.sh"], capture_output=True).returncode, 2)


def floor(name, size, us):
    return {"name": name, "bytes": size, "median_us": us}


# 8 B and 1,000 B take 10 us and 20 us to the device, 5 us to the host; 100 B in 1 us on the device.
FLOORS = [floor("to-device", 8, 10), floor("to-device", 1000, 20), floor("to-host", 8, 5),
          floor("to-host", 1000, 5), floor("both-ways", 8, 12), floor("both-ways", 1000, 40),
          floor("on-device", 8, 3), floor("on-device", 1000, 10)]  # fmt: skip


class Page(unittest.TestCase):
    def test_small_calls(self):
        found = lanes.Floors(FLOORS)
        self.assertEqual(found.staged("allreduce", 2, 8, 7.0), 5 + 7 + 10)
        self.assertEqual(found.copy("to-device", 504), 15)  # half way
        # Its blocks of all members come back.
        self.assertAlmostEqual(found.staged("allgather", 2, 500, 1.0), 5 + 1 + 20)

    def test_lanes(self):
        found = lanes.Floors(FLOORS)
        self.assertEqual(found.by_bus("allreduce", 2, 1000), 2 * 40)  # both ways at once
        self.assertEqual(found.by_bus("bcast", 4, 1000), 3 * 20)  # three copies in
        self.assertEqual(found.by_bus("allgather", 2, 1000), max(2 * 40, 4 * 20))
        self.assertEqual(found.on_device("allreduce", 2, 1000), 20)
        self.assertEqual(found.on_device("bcast", 2, 1000), 10)  # one read, one written

    def measured(self, **changes):
        row = {"op": "bcast", "bytes": 8, "median_us": 33.0, "correct": True, "refusal": ""}
        host = row | {"median_us": 7.0}
        return {"device": {"name": "Card", "played": False}, "library": "Espalier",
                "host": {"cpu_model": "CPU"}, "smoke": False, "floors": FLOORS,
                "calls": {2: [row, row | {"bytes": 1 << 20, "refusal": "no time"}]},
                "on_host": {2: [host]}, "mpi": None, "staged": {}, "kernels": [],
                "missing": []} | changes  # fmt: skip

    def test_ratios_and_what_is_above(self):
        text = page.text(self.measured())
        self.assertIn("| bcast | 33.0 (**1.50**) |", text)  # 33 / (5 + 7 + 10)
        self.assertIn("Above the aim: 1 of 1.", text)
        self.assertIn("- 2 processes, bcast, 1 MiB: no time", text)
        self.assertNotIn("No figure", text)
        self.assertIn("Card", text)

    def test_kernels_and_staging(self):
        rows = [{"op": "allreduce", "bytes": 8, "median_us": 5.0, "correct": True, "refusal": ""}]
        text = page.text(self.measured(
            kernels=[(0, 1000, 2.0), (3, 1000, 4.0)], calls={2: rows}, mpi="MPI",
            staged={2: {8: 10.0}}))  # fmt: skip
        self.assertIn("| k = 3 | 1.00 (1.00) |", text)
        self.assertIn("| 2 | 5.00 / 10.0 (0.50) |", text)


if __name__ == "__main__":
    unittest.main()
