#!/usr/bin/env python3
"""published_test.py SOURCE BUILD: the command of bench/experiments/published on its smallest cells.

Runs them, finds them on file with the columns that readers rely on, and does not run them again.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:])
COLUMNS = ["machine", "ranks", "ranks_per_node", "placement", "operation", "bytes", "algorithm",
           "shape", "levels", "segment", "variant", "root", "us"]


def published(out):
    command = SOURCE / "bench" / "experiments" / "published" / "published.py"
    return subprocess.run([sys.executable, "-B", command, "--build", BUILD, "--out", out, "--only",
                           "asp", "--most-ranks", "16"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def check_cells(table):
    assert table["columns"] == COLUMNS, table["columns"]
    cells = [dict(zip(COLUMNS, row)) for row in table["cells"]]
    assert len(cells) == 12, cells
    for cell in cells:
        where = (cell["machine"], cell["ranks"], cell["operation"], cell["bytes"])
        assert where == ("zoot", 16, "bcast", 65536), cell
        # At least one copy at the speed of a core, at most one copy after another.
        assert 15 < cell["us"] < 16 * 50, cell
    assert {cell["root"] for cell in cells} == {0, 5, 15}, cells


with tempfile.TemporaryDirectory() as folder:
    assert "12 cells were run" in published(folder)
    file = pathlib.Path(folder, "published.json")
    check_cells(json.loads(file.read_text(encoding="utf-8")))
    before = file.read_bytes()
    assert "0 cells were run" in published(folder)
    assert file.read_bytes() == before
    report = pathlib.Path(folder, "published.md").read_text(encoding="utf-8")
    assert "Not run yet." in report and "@" not in report, report
print("smallest cells are run once")
