"""threads_tables_test.py BENCH_DIR: the tables of bench/threads have every cell, and those of
another version in brackets."""
import copy
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "threads"))
import tables  # noqa: E402

MACHINE = {"cpu": "A processor", "kernel": "Linux 6", "processors": 2, "others": 0.25,
           "library": "Espalier 0.1.0",
           "moved_by": "cores, which copy through shared memory"}


def latency_row(way, form, threads, size, median, steady=True):
    return {"way": way, "form": form, "threads": threads, "bytes": size, "median_us": median,
            "mean_us": 2 * median, "steady": steady, "crowded": threads > 1}


def launches():
    latency = [latency_row("direct", "blocking", 1, 0, 0.25), latency_row("direct", "blocking", 1,
                                                                         1024, 0.5, False),
               latency_row("offload", "started", 2, 0, 123.4)]
    starts = [{"way": "owner", "operation": name, "bytes": size, "median_us": us}
              for name, size, us in (("barrier", 0, 2.0), ("send", 1, 3.0), ("send", 4096, 30.0))]
    return {
        "latency": {**MACHINE, "rows": latency},
        "latency mpich multiple": {**MACHINE, "library": "MPICH 4.0.2", "rows": [
            latency_row("multiple", "blocking", 1, 0, 7.0)]},
        "initiation": {**MACHINE, "clock_ns": 20.0, "rows": starts, "ratios": [
            {"way": "owner", "operation": "send", "ratio": 10.0}]},
        "wake": {**MACHINE,
                 "threads": [{"thread": "library", "cpus": "0-1", "busy_us": 7.0, "sleeps": 1,
                              "idle_ms": 1000}],
                 "wakes": [{"operation": "alone", "sleep_ms": 20, "median_us": 40.0,
                            "p90_us": 50.0, "start_us": 1.5}]},
        "bandwidth of two pairs": {**MACHINE, "rows": [
            {"way": "direct", "bytes": 1024, "window": 4, "mb_per_s": 2000.0,
             "messages_per_s": 2e6, "crowded": True}]},
        "overlap": {**MACHINE, "rows": [
            {"way": way, "operation": "bcast", "bytes": 4096, "comm_us": 9.0, "r": r}
            for way, r in (("owner", -0.5), ("thread", 0.75))]},
    }  # fmt: skip


def found(measured):
    origin = {"source": "abc", "date": "2030-01-01", "rounds": 3}
    return {"origin": origin, "launches": measured}


class Tables(unittest.TestCase):
    def test_all_cells_are_there(self):
        text = tables.markdown(found(launches()))
        for line in ("| direct | 1 | 0.25 / 0.50 | 0.50 / 1.00 ~ | no |",
                     "| offload | 2 | 123 / 247 | - | yes |",
                     "| MPICH 4.0.2, multiple | 1 | 7.00 / 14.0 | - | no |",
                     "| owner | barrier | 2.00 | - | - |", "| owner | send | 3.00 | 30.0 | 10.0 |",
                     "| library | 0-1 | 7.00 | 1 |", "| alone | 20 ms | 40.0 | 50.0 | 1.50 |",
                     "| direct | 1 KiB | 2,000 | 2,000,000 | yes |",
                     "| bcast | 4 KiB | 9.00 | 9.00 | -0.50 | 0.75 |"):
            self.assertIn(line + "\n", text)
        self.assertNotIn("(", text[text.index("### blocking"):text.index("## Starting")])

    def test_another_version_stands_in_brackets(self):
        now, then = launches(), launches()
        then["latency"]["rows"][0]["median_us"] = 0.75
        del then["latency mpich multiple"], then["latency"]["rows"][2]
        then["overlap"]["rows"][1]["r"] = -1.0
        text = tables.markdown(found(now), found(then))
        self.assertIn("| direct | 1 | 0.25 (0.75) / 0.50 (0.50) | 0.50 (0.50) / 1.00 (1.00) ~ | ",
                      text)
        self.assertIn("| offload | 2 | 123 / 247 | - | yes |", text)
        self.assertIn("| 9.00 (9.00) | -0.50 (-0.50) | 0.75 (-1.00) |", text)

    def test_a_figure_is_the_median_of_the_rounds(self):
        rounds = [launches()["latency"] for _ in range(3)]
        for launch, us in zip(rounds, (5.0, 1.0, 2.0)):
            launch["rows"][0]["median_us"] = us
        rounds[1]["rows"][2]["steady"] = False
        first, second, third = tables.median_of(rounds)["rows"]
        self.assertEqual((first["median_us"], first["mean_us"], first["threads"]), (2.0, 0.5, 1))
        self.assertEqual((first["steady"], second["steady"], third["steady"]), (True, False, False))

    def test_what_was_not_measured_is_left_out(self):
        measured = copy.deepcopy(launches())
        del measured["latency"], measured["latency mpich multiple"]
        text = tables.markdown(found(measured))
        self.assertNotIn("Latency", text)
        self.assertIn("## Starting", text)


if __name__ == "__main__":
    unittest.main()
