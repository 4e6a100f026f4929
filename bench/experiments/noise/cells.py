"""What all parts of the noise experiment share: its cells, and how their times are told."""

import statistics
import subprocess

NOISES = ["none", "uniform:10hz:0ns-10ms", "uniform:10hz:0ns-20ms"]
# The same detours, which begin together on all ranks.
ALIGNED = ["none", *(noise + ":aligned" for noise in NOISES[1:])]
VARIANTS = ["event", "waitall", "blocking"]
OPERATIONS = ["bcast", "reduce"]
TREE = ["--bytes", "4M", "--segment", "64K", "--shape", "chain"]


def run(*command):
    """The standard output of a command that succeeds."""
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def cell(figures, operation, variant, noise):
    """Median, least and greatest time of a cell in microseconds."""
    times = next(figure["us"] for figure in figures if (
        figure["operation"], figure["variant"], figure["noise"]) == (operation, variant, noise))
    return statistics.median(times), min(times), max(times)


def slowdown(figures, operation, variant, noises=tuple(NOISES)):
    """In percent, at 10 % noise."""
    quiet, loud = (cell(figures, operation, variant, noises[i])[0] for i in (0, 2))
    return 100 * (loud / quiet - 1)
