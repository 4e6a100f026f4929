"""What all sections share: runs of esp-sim with lists of values, and their figures on file."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from told import K, M, ROOT, size, table, times  # noqa: E402, F401

MACHINE = "supermuc-ng"
RANKS = [8, 16, 32, 64, 128, 256]
SHOWN = [8, 64, 256]  # in tables; claims are about all
CORES = [1, 24]  # of a consumer: a rank has a socket, and its threads share the work

# A row is a run: what was simulated, and times in microseconds.
KEYS = ["ranks", "operation", "bytes", "algorithm", "variant", "overlap", "work", "consumer",
        "consume", "groups"]
FIGURES = ["us", "operation_us", "work_us"]
# A grid is a dictionary of options with their values, of which esp-sim runs all combinations.
ALWAYS = {"machine": MACHINE, "ranks_per_node": 2, "levels": "auto", "algorithm": "auto"}


def simulate(program, grid, most_ranks):
    """{key: figures} of a grid."""
    options = {**ALWAYS, **grid}
    options["ranks"] = [ranks for ranks in options["ranks"] if ranks <= most_ranks]
    if not options["ranks"]:
        return {}
    command = [str(program), "--quiet", "--json", "-"]
    for name, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        command += [f"--{'op' if name == 'operation' else name.replace('_', '-')}"]
        command += [] if value is True else [text]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    rows = {}
    for row in json.loads(done.stdout)["rows"]:
        run, = row["runs"]
        rows[tuple(str(row[key]) for key in KEYS)] = [
            round(run.get(name, 0) / 1e3, 3) for name in ("makespan_ns", "operation_ns", "work_ns")]
    return rows


class Figures:
    """{section: {key: figures}}, on file after each section."""

    def __init__(self, file):
        self.file = file
        self.sections = {}
        if file.exists():
            document = json.loads(file.read_text(encoding="utf-8"))
            assert document["columns"] == KEYS + FIGURES, f"{file} has other columns: remove it"
            self.sections = {
                name: {tuple(row[:len(KEYS)]): row[len(KEYS):] for row in rows}
                for name, rows in document["sections"].items()}

    def put(self, section, rows):
        self.sections[section] = rows
        texts = []
        for name, table in self.sections.items():
            lines = ",\n".join(json.dumps([*key, *values]) for key, values in table.items())
            texts.append(f"{json.dumps(name)}: [\n{lines}\n]")
        inside = ",\n".join(texts)
        self.file.write_text(f'{{"columns": {json.dumps(KEYS + FIGURES)},\n"sections": {{\n'
                             f"{inside}\n}}}}\n", encoding="utf-8")

    def get(self, section, **wanted):
        """The figures of the one row that is like this, by their names."""
        found = [values for key, values in self.sections[section].items()
                 if all(key[KEYS.index(name)] == str(value) for name, value in wanted.items())]
        assert len(found) == 1, f"{section}, {wanted}: {len(found)} rows"
        return dict(zip(FIGURES, found[0]))


def time(us):
    return f"{us:.1f} us" if us < 1e3 else f"{us / 1e3:.2f} ms"


def between(values, text=times):
    values = list(values)
    least, greatest = text(min(values)), text(max(values))
    return least if least == greatest else f"{least} to {greatest}"
