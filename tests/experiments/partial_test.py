#!/usr/bin/env python3
"""partial_test.py SOURCE BUILD: the command of bench/experiments/partial on its smallest runs.

Runs them, finds them on file with figures that hang together, and does not run them again.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:])
COLUMNS = ["ranks", "operation", "bytes", "algorithm", "variant", "overlap", "work", "consumer",
           "consume", "groups", "us", "operation_us", "work_us"]


def partial(out, *options):
    command = SOURCE / "bench" / "experiments" / "partial" / "partial.py"
    return subprocess.run([sys.executable, "-B", command, "--build", BUILD, "--out", out, "--only",
                           "merge", "halo", "--most-ranks", "8", *options], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def check(document):
    assert document["columns"] == COLUMNS, document["columns"]
    assert list(document["sections"]) == ["merge", "halo"] and not document["sections"]["halo"]
    runs = [dict(zip(COLUMNS, row)) for row in document["sections"]["merge"]]
    assert len(runs) == 7 * 4 * 2, len(runs)
    for run in runs:
        assert (run["ranks"], run["operation"]) == ("8", "alltoall"), run
        # Neither is faster than the longer one, nor slower than one after the other.
        together = run["operation_us"] + run["work_us"]
        assert max(run["operation_us"], run["work_us"]) <= run["us"] <= together + 0.01, run
        assert run["consumer"] == "partial" or run["us"] > together - 0.01, run
    assert any(run["us"] < run["operation_us"] + run["work_us"] - 1 for run in runs)


with tempfile.TemporaryDirectory() as folder:
    assert "2 sections were run" in partial(folder)
    file = pathlib.Path(folder, "partial.json")
    check(json.loads(file.read_text(encoding="utf-8")))
    before = file.read_bytes()
    assert "0 sections were run" in partial(folder)
    assert "2 sections were run" in partial(folder, "--fresh") and file.read_bytes() == before
    report = pathlib.Path(folder, "partial.md").read_text(encoding="utf-8")
    assert "Not run yet." in report and "@" not in report, report
print("smallest runs are run once")
