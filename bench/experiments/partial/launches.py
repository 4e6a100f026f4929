"""Real runs of the examples: launches in rounds, their figures on file, ratios and their spread."""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import time

LIMIT_S = 120  # of a launch
OTHERS_MOST = 0.1  # processors that others may use, for figures that are not provisional
TICKS = os.sysconf("SC_CLK_TCK")


def machine():
    """As a report names it."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.split(":")[1].strip() for line in text.splitlines()
                  if line.startswith("model name")), "unknown")
    return {"model": model, "processors": len(os.sched_getaffinity(0))}


class Others:
    """Processors that neither this program nor its launches used, from its making on."""

    def __init__(self):
        self._start = self._read()

    def used(self):
        seconds, busy, own = (now - then for now, then in zip(self._read(), self._start))
        return round(max(0, busy - own) / seconds, 2) if seconds > 0 else 0.0

    @staticmethod
    def _read():
        fields = pathlib.Path("/proc/stat").read_text(encoding="utf-8").split(None, 9)[1:9]
        user, nice, system, idle, waiting, irq, softirq, steal = map(int, fields)
        own = sum(usage.ru_utime + usage.ru_stime
                  for usage in map(resource.getrusage,
                                   (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
        busy = (user + nice + system + irq + softirq + steal) / TICKS
        # All processors together: with their idle time the clock, times their number.
        clock = busy + (idle + waiting) / TICKS
        return clock / os.cpu_count(), busy, own


def launch(build, ranks, nodes, program, options):
    """The lines that rank 0 prints, of which each is a run."""
    command = [build / "bin" / "esp-run", "-n", ranks, "--nodes", nodes,
               build / "bin" / program, *options, "--report", "json"]
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          text=True, timeout=LIMIT_S)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Rounds:
    """{cell: [figures of each round]}; a cell is a tuple. The first round is dropped."""

    def __init__(self, columns, figures):
        self.columns, self.figures = columns, figures
        self.cells = {}

    def measure(self, build, launches, count, minutes):
        """`launches`: functions that launch something and return {cell: figures}. No new round
        after `minutes`, but the first that counts is always there. Returns how many count."""
        end = time.monotonic() + 60 * minutes
        for number in range(count + 1):
            if number > 1 and time.monotonic() > end:
                return number - 1
            for one in launches:
                for cell, values in one(build).items():
                    kept = self.cells.setdefault(cell, [])
                    if number > 0:
                        kept.append(values)
        return count

    def rows(self):
        return [[*cell, rounds] for cell, rounds in self.cells.items()]

    def read(self, rows):
        self.cells = {tuple(row[:-1]): row[-1] for row in rows}
        return self

    def has(self, *cell):
        return cell in self.cells

    def values(self, figure, *cell):
        place = self.figures.index(figure)
        return [values[place] for values in self.cells[cell]]

    def median(self, figure, *cell):
        return statistics.median(self.values(figure, *cell))

    def ratio(self, figure, cell, other):
        return self.median(figure, *cell) / self.median(figure, *other)

    def ratios(self, figure, cell, other):
        """Round by round, the least and the greatest."""
        each = [a / b for a, b in zip(self.values(figure, *cell), self.values(figure, *other))]
        return min(each), max(each)

    def ratio_text(self, figure, cell, other):
        if not (self.has(*cell) and self.has(*other)):
            return ""
        least, most = self.ratios(figure, cell, other)
        return f"{self.ratio(figure, cell, other):.2f} ({least:.2f}-{most:.2f})"

    def time_text(self, figure, *cell):
        """Median and minimum."""
        values = self.values(figure, *cell)
        unit, name = (1e6, "us") if statistics.median(values) < 1e-3 else (1e3, "ms")
        return f"{statistics.median(values) * unit:.3g} ({min(values) * unit:.3g}) {name}"


def threads_text(ranks, threads, processors):
    """Of ranks with a communication thread each beside their own."""
    running = ranks * (threads + 1)
    return f"{ranks} x ({threads} + 1)" + (" *" if running > processors else "")
