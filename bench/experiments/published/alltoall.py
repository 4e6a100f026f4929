"""Alltoall: up to which block Bruck's rounds are faster than direct exchanges."""

import math

from runs import cell, table
from cores import prices

MACHINES = ["flat", "supermuc-ng"]
RANKS = [16, 64, 256]
SIZES = [8 << i for i in range(11)]
DIRECT = ["ring", "one-factor", "xor"]
# s* G / (L + 2 o), where steps come one after the other.
PREDICTED = {8: 0.80, 16: 0.647, 64: 0.442, 256: 0.321}


def one(machine, ranks, bytes_, algorithm, variant="event"):
    return cell(machine, ranks, "alltoall", bytes_, ranks_per_node=1, algorithm=algorithm,
                variant=variant)


def cells():
    for machine in MACHINES:
        for ranks in RANKS:
            for bytes_ in SIZES:
                for algorithm in ["bruck", *DIRECT]:
                    yield one(machine, ranks, bytes_, algorithm)
                yield one(machine, ranks, bytes_, "ring", "blocking")


def crossover(figures, machine, ranks, algorithm, variant="event"):
    """The block size at which Bruck takes as long, between two sizes by their logarithms."""
    before = None
    for bytes_ in SIZES:
        ratio = math.log(figures.us(one(machine, ranks, bytes_, "bruck")) /
                         figures.us(one(machine, ranks, bytes_, algorithm, variant)))
        if ratio > 0:
            if before is None:
                return f"below {bytes_} B"
            share = before[1] / (before[1] - ratio)
            return f"{before[0] * (bytes_ / before[0]) ** share:.0f} B"
        before = bytes_, ratio
    return f"above {SIZES[-1]} B"


def predicted(machine, ranks):
    price = prices(machine)
    level = price["level group" if machine == "supermuc-ng" else "level cluster"]
    return (PREDICTED[ranks] * (level["latency"] + 2 * level["overhead"]) *
            price["lane nic"]["bandwidth"])


def claims(figures):
    """[what, published, simulated]"""
    said = ", ".join(f"{ranks}: {crossover(figures, 'supermuc-ng', ranks, 'one-factor')}"
                     for ranks in RANKS)
    return [["alltoall, supermuc-ng: Bruck up to blocks of", "256 B at 64 and 256 ranks", said]]


def tables(figures):
    rows = [[machine, ranks, f"{predicted(machine, ranks):.0f} B",
             crossover(figures, machine, ranks, "ring", "blocking"),
             *(crossover(figures, machine, ranks, algorithm) for algorithm in DIRECT)]
            for machine in MACHINES for ranks in RANKS]
    lines = table(["machine", "ranks", "predicted, step by step", "ring, step by step",
                   *(f"{name}, overlapped" for name in DIRECT)], rows)
    for machine in MACHINES:
        for ranks in RANKS:
            lines += ["", f"#### {machine}, {ranks} ranks, microseconds (simulated)", ""]
            lines += table(["block", "bruck", *DIRECT, "ring, step by step"], [
                [f"{b} B", *(f"{figures.us(one(machine, ranks, b, name)):.1f}"
                             for name in ["bruck", *DIRECT]),
                 f"{figures.us(one(machine, ranks, b, 'ring', 'blocking')):.1f}"] for b in SIZES])
    return lines
