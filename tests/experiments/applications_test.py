#!/usr/bin/env python3
"""applications_test.py SOURCE BUILD: bench/experiments/partial/applications.py, smallest runs.

Every cell is there, of every round that counts, and comes into the report. Times are not judged.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:])
FOLDER = SOURCE / "bench" / "experiments" / "partial"
SORTS = ["blocking", "offloaded", "partial, 1", "partial, order of arrival"]
MORE_SORTS = ["partial, 2", "blocking, groups of 2"]
HEATS = {"funnel": 2, "multiple": 3, "sync": 2, "partial": 2, "partial, separate": 3}
ROUNDS = 2


def command(name, out, *options):
    return subprocess.run([sys.executable, "-B", FOLDER / name, "--out", out, *options], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def check_sorts(section):
    expected = {(2, 1, 256, name) for name in SORTS}
    expected |= {(4, 4, 256, name) for name in SORTS + MORE_SORTS}
    assert {tuple(row[:4]) for row in section["rows"]} == expected, section["rows"]
    for *cell, rounds in section["rows"]:
        assert len(rounds) == ROUNDS, cell
        for seconds, exchange, merge, overlapped in rounds:
            assert seconds >= max(exchange, merge) > 0 and 0 <= overlapped <= merge, cell


def check_heats(section):
    """Two ranks side by side: one edge, of 2 threads."""
    assert [row[:3] for row in section["rows"]] == [[2, 2, name] for name in HEATS]
    for _, _, name, rounds in section["rows"]:
        assert len(rounds) == ROUNDS and all(seconds > 0 for seconds, _ in rounds), name


with tempfile.TemporaryDirectory() as folder:
    said = command("applications.py", folder, "--smallest", "--rounds", str(ROUNDS), "--build",
                   BUILD)
    assert "measured: sort, 10 cells" in said and "measured: heat, 5 cells" in said, said
    document = json.loads(pathlib.Path(folder, "applications.json").read_text(encoding="utf-8"))
    check_sorts(document["sort"])
    check_heats(document["heat"])
    for section in document.values():
        assert section["machine"]["processors"] > 0 and section["others"] >= 0, section
    command("partial.py", folder, "--report")
    report = pathlib.Path(folder, "partial.md").read_text(encoding="utf-8")
    assert "| sync / partial |" in report and "| blocking | offloaded |" in report, report
print("the examples were measured")
