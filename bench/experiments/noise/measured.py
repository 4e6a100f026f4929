"""The noise experiment for real: esp-noise-loop under esp-noise, on the machine this runs on.

Needs the programs esp-run, esp-noise and esp-noise-loop in PREFIX/bin (and libespalier in
PREFIX/lib): a build folder, an installation, or a copy. No source tree, no compiler.
"""

import os
import pathlib
import platform

from cells import ALIGNED, NOISES, OPERATIONS, TREE, VARIANTS, run


def host():
    """The machine, as a heading names it."""
    cpus = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.split(":")[1].strip() for line in cpus.splitlines()
                  if line.startswith("model name")), platform.machine())
    return {"model": model, "cores": len(os.sched_getaffinity(0))}


def rounds(settings):
    """All cells (ranks, operation, variant, noise) in turn, `rounds` times, so that what else
    happens on the machine meets all of them alike."""
    for number in range(settings.rounds):
        for ranks in settings.ranks:
            for operation in OPERATIONS:
                for variant in VARIANTS:
                    for noise in [*NOISES, *ALIGNED[1:]]:
                        yield number, (ranks, operation, variant, noise)


class Measurement:
    """Seconds per call; a cell has as many calls as take `seconds` without noise."""

    def __init__(self, settings):
        self._bin = settings.prefix / "bin"
        self._seconds = settings.seconds
        self._calls = {}

    def seconds_per_call(self, key, seed):
        """One cell, once."""
        ranks, operation, variant, noise = key
        loop = [self._bin / "esp-noise-loop", "--op", operation, "--variant", variant, *TREE]
        launch = [self._bin / "esp-run", "-n", ranks]
        if key[:3] not in self._calls:
            quiet = float(run(*launch, *loop, "--calls", 20))
            self._calls[key[:3]] = max(20, int(self._seconds / quiet))
        return float(run(*launch, self._bin / "esp-noise", "--spec", noise, "--seed", seed, "--",
                         *loop, "--calls", self._calls[key[:3]]))


def measure(settings):
    """What --merge takes: the machine and its figures."""
    measurement = Measurement(settings)
    figures = {}
    last = None
    for number, key in rounds(settings):
        if (number, key[0]) != last:
            last = (number, key[0])
            print(f"round {number + 1} of {settings.rounds}: {key[0]} ranks", flush=True)
        seconds = measurement.seconds_per_call(key, number + 1)
        figures.setdefault(key, []).append(round(seconds * 1e6, 1))
    return {"host": host(), "seconds": settings.seconds,
            "figures": [{"ranks": ranks, "operation": operation, "variant": variant,
                         "noise": noise, "us": times}
                        for (ranks, operation, variant, noise), times in figures.items()]}
