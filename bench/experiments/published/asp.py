"""All-pairs shortest paths: one broadcast of a row from a few roots, times the number of rows."""

import statistics

from runs import K, cell, ours, size, table

# machine, ranks, rows, bytes of a row, published seconds.
JOBS = [
    ("zoot", 16, 16384, 64 * K, {"Open MPI": 405.7, "MPICH2": 152.3, "KNEM": 26.8}),
    ("ig", 48, 32768, 128 * K, {"Open MPI": 550.2, "MPICH2": 293.9, "KNEM": 198}),
    ("stremi", 768, 16384, 64 * K,
     {"Tuned": 229, "MPICH2": 128, "Hierarch": 31.7, "HierKNEM": 20.3}),
    ("stremi", 768, 32768, 128 * K,
     {"Tuned": 929, "MPICH2": 417, "Hierarch": 173, "HierKNEM": 79}),
]


def plans(machine, ranks, bytes_):
    """{name: cells of a few roots}"""
    roots = [0, ranks // 3, ranks - 1]
    segment = 16 * K if ranks <= 48 else 4 * K  # on one node; on many
    return {
        "the library": [ours(machine, ranks, "bcast", bytes_, root=root) for root in roots],
        **{f"{shape} of nodes": [
            cell(machine, ranks, "bcast", bytes_, root=root, algorithm="tree", levels="flat",
                 shape=shape, segment=segment) for root in roots] for shape in ("chain", "binary")},
        "flat binomial": [cell(machine, ranks, "bcast", bytes_, root=root, algorithm="tree",
                               shape="binomial", segment=bytes_) for root in roots]}


def cells():
    for machine, ranks, _, bytes_, _ in JOBS:
        for some in plans(machine, ranks, bytes_).values():
            yield from some


def total(figures, count, some):
    """Seconds."""
    return count * statistics.mean(map(figures.us, some)) / 1e6


def claims(figures):
    """[what, published, simulated]"""
    machine, ranks, count, bytes_, published = JOBS[2]
    us = {name: total(figures, count, some)
          for name, some in plans(machine, ranks, bytes_).items()}
    best = min(us, key=us.get)
    return [[f"asp, {machine}, {count} rows of {size(bytes_)}",
             f"HierKNEM {published['HierKNEM']} s, Hierarch {published['Hierarch']} s, others "
             f"{published['MPICH2']} and {published['Tuned']} s",
             f"{us['the library']:.1f} s; {best}: {us[best]:.1f} s; flat binomial, by-core: "
             f"{us['flat binomial']:.1f} s"]]


def tables(figures):
    lines = []
    for machine, ranks, count, bytes_, published in JOBS:
        totals = {name: total(figures, count, some)
                  for name, some in plans(machine, ranks, bytes_).items()}
        lines.append([f"{machine}, {ranks} ranks, {count} of {size(bytes_)}",
                      *(f"{seconds:.1f} s" for seconds in totals.values()),
                      ", ".join(f"{who} {seconds:g} s" for who, seconds in published.items())])
    return table(["job", *plans("zoot", 16, 1), "published (measured there)"], lines)
