"""Every measure of esp-threads, with few iterations: all cells are there, and wrong options are
explained; and its latency over the MPI libraries that are here. No time is judged.
Usage: threads_test.py BIN_DIR"""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv.pop(1))
PROGRAM, LIMIT_S = BIN / "esp-threads", 120
OPEN_MPI = ["mpirun.openmpi", *(["--allow-run-as-root"] if os.geteuid() == 0 else []),
            "--bind-to", "none", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]


def launched(ranks, *args, launcher=()):
    command = [BIN / "esp-run", "-n", ranks, "--timeout", LIMIT_S, *launcher, PROGRAM, *args]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False)


def cells(rows, *columns):
    return [tuple(row[column] for column in columns) for row in rows]


class Threads(unittest.TestCase):
    def measured(self, *args, ranks=2, launcher=()):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            done = launched(ranks, *args, "--json", path, "--quiet", launcher=launcher)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "")
            found = json.loads(path.read_text(encoding="utf-8"))
        self.assertTrue(found["complete"])
        self.assertEqual((found["measure"], found["ranks"]), (args[0], ranks))
        self.assertGreater(found["processors"], 0)
        self.assertGreaterEqual(found["others"], 0)
        return found

    def check_rows(self, rows, *positive):
        for row in rows:
            self.assertTrue(row["correct"], row)
            self.assertIn(row["crowded"], (True, False))
            for column in positive:
                self.assertGreater(row[column], 0, row)

    def test_latency(self):
        found = self.measured("latency", "--iterations", "40", "--bytes", "0,1,8,9,8K",
                              "--threads", "1,3")
        sizes = (0, 1, 8, 9, 8192)
        wanted = [("direct", form, 1, size) for form in ("blocking", "started") for size in sizes]
        wanted += itertools.product(["lock"], ["started"], (1, 3), sizes)
        wanted += itertools.product(["offload"], ("blocking", "started"), (1, 3), sizes)
        self.assertEqual(cells(found["rows"], "way", "form", "threads", "bytes"), wanted)
        self.check_rows(found["rows"], "mean_us", "median_us", "sd_us", "min_us")
        for row in found["rows"]:
            self.assertEqual(row["iterations"], 40 if row["bytes"] <= 4096 else 4)
            self.assertTrue(20 <= row["warm_ups"] <= 200, row)
            self.assertTrue(row["steady"] or row["warm_ups"] == 200, row)

    def test_a_row_that_takes_long_is_cut_short(self):
        found = self.measured("latency", "--iterations", "1000000", "--bytes", "0", "--threads",
                              "1,2", "--limit-s", "0.00001")
        self.check_rows(found["rows"], "median_us")
        for row in found["rows"]:
            self.assertLessEqual(row["iterations"], 10)
            self.assertGreater(row["iterations"], 0)

    def test_initiation(self):
        found = self.measured("initiation", "--iterations", "5", "--bytes", "1,100K")
        operations = ("allreduce", "alltoall", "bcast", "send")
        wanted = [cell for way in ("owner", "progress")
                  for cell in [(way, "barrier", 0),
                               *itertools.product([way], operations, (1, 102400))]]
        self.assertEqual(cells(found["rows"], "way", "operation", "bytes"), wanted)
        self.check_rows(found["rows"], "median_us", "p90_us", "whole_us", "of_empty")
        self.assertEqual(cells(found["ratios"], "way", "operation", "smallest", "largest"),
                         list(itertools.product(("owner", "progress"), operations, [1], [102400])))
        self.assertTrue(all(row["ratio"] > 0 for row in found["ratios"]))
        self.assertGreater(found["clock_ns"], 0)

    def test_wake(self):
        for ranks, operations in ((1, ("alone",)), (2, ("alone", "peer"))):
            found = self.measured("wake", "--iterations", "3", "--idle-ms", "50", "--sleep-ms",
                                  "2", ranks=ranks)
            self.assertEqual(cells(found["wakes"], "operation", "sleep_ms"),
                             list(itertools.product(operations, (0, 2))))
            self.check_rows(found["wakes"], "median_us", "p90_us", "start_us")
            kinds = [row["thread"] for row in found["threads"]]
            self.assertEqual((kinds.count("caller"), kinds.count("library")), (1, 1), kinds)
            for row in found["threads"]:
                self.assertRegex(row["cpus"], r"^\d[\d,-]*$")
                self.assertGreaterEqual(row["busy_us"], 0)

    def test_bandwidth(self):
        for ranks in (2, 4):
            found = self.measured("bandwidth", "--iterations", "3", "--bytes", "1,8K", "--windows",
                                  "2,16", ranks=ranks)
            self.assertEqual(cells(found["rows"], "way", "bytes", "window"),
                             list(itertools.product(("direct", "offload"), (1, 8192), (2, 16))))
            self.check_rows(found["rows"], "mb_per_s", "messages_per_s")
            self.assertEqual({row["pairs"] for row in found["rows"]}, {ranks // 2})

    def test_overlap(self):
        operations = ("alltoall", "allreduce", "bcast")
        for more in ((), ("--nodes", "2")):  # by a network as well
            found = self.measured("overlap", "--iterations", "3", "--bytes", "1,40K", "--poll-us",
                                  "5", launcher=more)
            self.assertEqual(cells(found["rows"], "way", "operation", "bytes"),
                             list(itertools.product(("owner", "polled", "thread"), operations,
                                                    (1, 40960))))
            self.check_rows(found["rows"], "comm_us", "work_us", "whole_us")
            self.assertEqual("cores" in found["moved_by"], not more)
            for row in found["rows"]:
                comm, work, whole = row["comm_us"], row["work_us"], row["whole_us"]
                self.assertAlmostEqual(row["r"], (comm + work - whole) / max(comm, work), 6)
                self.assertAlmostEqual(row["hidden"], (comm + work - whole) / min(comm, work), 6)
                self.assertEqual(row["computing"], 2)

    def test_overlap_of_one_rank_that_computes(self):
        found = self.measured("overlap", "--iterations", "3", "--bytes", "1K", "--computing", "1")
        self.check_rows(found["rows"], "comm_us", "work_us", "whole_us")
        self.assertEqual({row["computing"] for row in found["rows"]}, {1})
        done = launched(2, "overlap", "--computing", "3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not so many ranks", done.stderr)

    def test_tables_are_for_people(self):
        done = launched(2, "bandwidth", "--iterations", "3", "--bytes", "1", "--windows", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        head = [line for line in done.stdout.splitlines() if line.startswith("#")]
        self.assertRegex(head[0], r"esp-threads bandwidth, Espalier [.0-9]+: 2 ranks, 2 of them ")
        self.assertRegex(head[0], r"on this machine of \d+ processors$")
        self.assertRegex(done.stdout, r"\n +direct +1 +1 +2 +3 [ \d.]+ yes ")

    def refused(self, *args):
        # Without a launcher: options are judged before the library is started.
        done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_wrong_options_are_explained(self):
        for wrong in ((), ("slow",)):
            self.assertIn("latency, initiation, wake, bandwidth or overlap", self.refused(*wrong))
        self.assertIn("--bogus", self.refused("latency", "--bogus"))
        self.assertIn("direct,lock,offload", self.refused("latency", "--ways", "owner"))
        self.assertIn("not in range 1 to 64", self.refused("latency", "--threads", "0"))
        self.assertIn("one thread", self.refused("latency", "--ways", "direct", "--threads", "2"))
        self.assertIn("keep the lock",
                      self.refused("latency", "--ways", "lock", "--forms", "blocking"))
        self.assertIn("64 MiB", self.refused("latency", "--bytes", "1G"))
        self.assertIn("of latency alone", self.refused("initiation", "--bytes", "0"))
        self.assertIn("--iterations", self.refused("overlap", "--iterations", "2"))
        self.assertIn("--computing", self.refused("overlap", "--computing", "-1"))
        self.assertIn("256 MiB", self.refused("bandwidth", "--bytes", "4M"))
        self.assertIn("--bytes", self.refused("wake", "--bytes", "8"))

    def test_other_libraries(self):
        options = ("--iterations", "3", "--bytes", "0,9", "--threads", "1,2", "--limit-s", "0.1")
        for library, launcher in (("openmpi", OPEN_MPI), ("mpich", ["mpirun.mpich"])):
            program = BIN / f"esp-threads-{library}"
            for way, numbers in (("multiple", (1, 2)), ("single", (1,))):
                if not program.exists() or shutil.which(launcher[0]) is None:
                    continue
                with self.subTest(library=library, way=way), tempfile.TemporaryDirectory() as kept:
                    path = pathlib.Path(kept) / "out.json"
                    command = [*launcher, "-n", "2", program, "latency", "--ways", way, *options,
                               "--json", path]
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
                    self.check_rows(rows, "median_us")
                    self.assertEqual(cells(rows, "way", "form", "threads", "bytes"),
                                     list(itertools.product([way], ("blocking", "started"),
                                                            numbers, (0, 9))))

    @unittest.skipIf(not (BIN / "esp-threads-mpich").exists(), "no MPICH")
    def test_other_libraries_have_the_latency_alone(self):
        for wrong, text in ((["overlap"], "all there is for MPI"),
                            (["latency"], "initialised once"),
                            (["latency", "--ways", "lock"], "multiple,single")):
            done = subprocess.run([BIN / "esp-threads-mpich", *wrong], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    def test_ranks_that_do_not_fit_are_explained(self):
        for ranks, measure, text in ((3, "latency", "two ranks"), (3, "bandwidth", "pairs"),
                                     (1, "overlap", "two ranks"), (1, "initiation", "two ranks")):
            done = launched(ranks, measure)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)

    def test_json_that_cannot_be_written(self):
        done = launched(1, "wake", "--iterations", "3", "--idle-ms", "10", "--json",
                        "/nowhere/x.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/x.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
