"""What all sections share: cells of esp-sim, and their figures on file."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from told import K, M, ROOT, size, table, times  # noqa: E402, F401

MACHINES = ROOT / "net" / "sim" / "machines"

# A cell is one run of esp-sim: what is simulated, and the time of a call in microseconds.
COLUMNS = ["machine", "ranks", "ranks_per_node", "placement", "operation", "bytes", "algorithm",
           "shape", "levels", "segment", "variant", "root", "us"]
DEFAULTS = {"ranks_per_node": 0, "placement": "by-core", "algorithm": "auto", "shape": "auto",
            "levels": "none", "segment": 0, "variant": "event", "root": 0}
OPTIONS = {"operation": "op"}

# Machines that differ from one that ships in one line: name, base, pattern, replacement.
VARIED = {
    "stremi-wide": ("stremi", r"(\[level core\]\narity = )6 ", r"\g<1>60 "),
    "parapluie-memory": ("parapluie", r"(\[lane memory\]\n.*\nbandwidth = )6 GB/s",
                         r"\g<1>24 GB/s"),
}


def cell(machine, ranks, operation, bytes_, **more):
    """A tuple in the order of COLUMNS, but the time."""
    values = {"machine": machine, "ranks": ranks, "operation": operation, "bytes": bytes_,
              **DEFAULTS, **more}
    return tuple(values[column] for column in COLUMNS[:-1])


def ours(machine, ranks, operation, bytes_, **more):
    """A cell as the library chooses, with all that a job across nodes knows."""
    return cell(machine, ranks, operation, bytes_, **{"levels": "auto", **more})


def machine_text(name):
    base, pattern, replacement = VARIED.get(name, (name, None, None))
    text = (MACHINES / f"{base}.machine").read_text(encoding="utf-8")
    if pattern is None:
        return text
    text, found = re.subn(pattern, replacement, text)
    assert found == 1, f"{name}: {base}.machine has {found} lines like {pattern}"
    return text


def simulate(program, one):
    """Microseconds of a call."""
    values = dict(zip(COLUMNS, one))
    with tempfile.TemporaryDirectory() as folder:
        if values["machine"] in VARIED:
            file = pathlib.Path(folder, "varied.machine")
            file.write_text(machine_text(values["machine"]), encoding="utf-8")
            values["machine"] = file
        command = [str(program), "--quiet", "--json", "-"]
        for column, value in values.items():
            option = OPTIONS.get(column, column).replace("_", "-")
            command += [f"--{option}", str(value)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row, = json.loads(done.stdout)["rows"]
    return row["makespan_ns"]["median"] / 1e3


class Figures:
    """The cells that have been run, on file after every one: who stops may go on later."""

    def __init__(self, file):
        self.file = file
        self.times = {}
        if file.exists():
            table = json.loads(file.read_text(encoding="utf-8"))
            assert table["columns"] == COLUMNS, f"{file} has other columns: use --fresh"
            self.times = {tuple(row[:-1]): row[-1] for row in table["cells"]}

    def us(self, one):
        return self.times[one]

    def add(self, one, time):
        self.times[one] = time
        rows = sorted(([*key, us] for key, us in self.times.items()), key=str)
        lines = ",\n".join(json.dumps(row) for row in rows)
        self.file.write_text(f'{{"columns": {json.dumps(COLUMNS)},\n"cells": [\n{lines}\n]}}\n',
                             encoding="utf-8")


def ms(us):
    return f"{us / 1e3:.2f} ms" if us < 1e5 else f"{us / 1e3:.0f} ms"
