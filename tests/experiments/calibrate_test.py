"""The machine file that calibrate.py makes of known measurements. Usage: calibrate_test.py ROOT"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "bench" / "experiments"))

import calibrate  # noqa: E402

HOST = {"cpu_model": "Test CPU", "kernel": "6.1", "cpus": 2}


def floors(**changes):
    times = {"line 0": 0.05, "copy-peer 65536": 2.0, "copy-peer 1048576": 32.0,
             "copy-both 1048576": 50.0, "readv 8": 0.6, "readv 1048576": 70.6,
             "add 1048576": 64.0}  # fmt: skip
    times.update(changes)
    rows = [{"name": k.split()[0], "bytes": int(k.split()[1]), "median_us": t, "samples": 3}
            for k, t in times.items()]  # fmt: skip
    return {"host": HOST, "floors": rows}


def message(us=0.25):
    return {"host": HOST, "rows": [{"op": "p2p-latency", "bytes": 8, "median_us": us}]}


def text(*documents, cores=0):
    measurements = calibrate.Measurements()
    for document in documents:
        measurements.add(document)
    return calibrate.machine_text(measurements, cores)


class Calibrate(unittest.TestCase):
    def value(self, made, key, section=""):
        tail = made[made.index(f"[{section}]") :] if section else made
        line = next(line for line in tail.splitlines() if line.startswith(key + " = "))
        return line.split(" = ")[1].split("  #")[0]

    def test_is_the_file_that_the_parser_is_tested_with(self):
        self.assertEqual(text(floors(), message()), (HERE / "calibrated.machine").read_text())

    def test_numbers_by_hand(self):
        made = text(floors(), message())
        self.assertEqual(self.value(made, "latency"), "50 ns")
        self.assertEqual(self.value(made, "overhead"), "100 ns")  # (250 - 50) / 2
        self.assertEqual(self.value(made, "bandwidth"), "32.77 GB/s")  # 65536 / 2 us
        # 1 MiB in 25 us
        self.assertEqual(self.value(made, "bandwidth", "lane memory"), "41.94 GB/s")
        self.assertEqual(self.value(made, "page"), "148.4 ns")  # (70.6 - 0.6 - 32) / 256
        self.assertEqual(self.value(made, "arity", "level core"), "2")

    def test_what_cannot_be_is_cut(self):
        made = text(floors(**{"readv 1048576": 10.0, "copy-both 1048576": 200.0}), message(0.01))
        self.assertEqual(self.value(made, "overhead"), "0 ns")
        self.assertEqual(self.value(made, "page"), "0 ns")
        self.assertEqual(self.value(made, "bandwidth", "lane memory"), "32.77 GB/s")

    def test_other_core_counts_are_assumed(self):
        self.assertIn("arity = 8  # assumed: as if it had so many; it has 2",
                      text(floors(), message(), cores=8))  # fmt: skip

    def test_missing_measurements_are_named(self):
        with self.assertRaisesRegex(calibrate.Missing, "no measurement of 'p2p-latency' with 8"):
            text(floors())

    def test_command(self):
        script = ROOT / "bench" / "experiments" / "calibrate.py"
        with tempfile.TemporaryDirectory() as folder:
            inputs = [pathlib.Path(folder) / name for name in ("floors.json", "message.json")]
            inputs[0].write_text(json.dumps(floors()))
            inputs[1].write_text(json.dumps(message()))
            out = pathlib.Path(folder) / "this.machine"
            base = [sys.executable, script, "--out", out, "--from"]
            subprocess.run([*base, *inputs], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(out.read_text(), text(floors(), message()))
            failed = subprocess.run([*base, inputs[0]], capture_output=True, text=True)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("no measurement of 'p2p-latency'", failed.stderr)


if __name__ == "__main__":
    unittest.main()
