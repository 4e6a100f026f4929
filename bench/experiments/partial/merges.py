"""Alltoall and a merge of its sorted blocks: at the end, or in groups as they land."""

from grids import CORES, K, RANKS, SHOWN, between, size, table, time, times

SECTION = "merge"
SIZES = [64, 256, 1 * K, 4 * K, 16 * K, 64 * K, 256 * K]
GROUPS = [1, 4, 16]
GB_PER_CORE = 1.6  # per level of the merge: 5 ns for a key of 8 bytes


def rate(cores):
    return f"{cores * GB_PER_CORE:.1f}GB/s"


def grids():
    for cores in CORES:
        yield {"ranks": RANKS, "operation": "alltoall", "bytes": SIZES,
               "consumer": ["after", "partial"], "groups": GROUPS, "consume": rate(cores),
               "merge": True}


def run(figures, cores, consumer, **wanted):
    return figures.get(SECTION, consumer=consumer, consume=f"{rate(cores)} merged", **wanted)


def gain(figures, cores, ranks, bytes_, group):
    after = run(figures, cores, "after", ranks=ranks, bytes=bytes_)
    partial = run(figures, cores, "partial", ranks=ranks, bytes=bytes_, groups=group)
    return after["us"] / partial["us"]


def gains(figures, cores, sizes):
    many = [p for p in RANKS if p >= 32]
    return between(max(gain(figures, cores, p, b, group) for group in GROUPS)
                   for p in many for b in sizes)


def claims(figures):
    """[what, published, simulated]"""
    parts = [("64 and 256 B", "slower below 256 B", SIZES[:2]),
             ("1 to 64 KiB", "up to 2.2 times", SIZES[2:6]), ("256 KiB", "1.1 to 1.2", SIZES[6:])]
    return [[f"alltoall and merge, partial over after the end, 32 to 256 ranks, {name}", published,
             "; ".join(f"{gains(figures, cores, sizes)} ({cores} core{'s' if cores > 1 else ''})"
                       for cores in CORES)] for name, published, sizes in parts]


def row(figures, ranks, bytes_):
    cells = [ranks, size(bytes_)]
    for cores in CORES:
        whole = run(figures, cores, "after", ranks=ranks, bytes=bytes_)
        cells += [] if len(cells) > 2 else [time(whole["operation_us"])]
        cells += [time(whole["work_us"]), *(times(gain(figures, cores, ranks, bytes_, group))
                                            for group in GROUPS if group > 1)]
    return cells


def tables(figures):
    assert all(gain(figures, cores, p, b, 1) == 1 for cores in CORES for p in RANKS for b in SIZES)
    head = ["ranks", "block", "exchange"]
    for cores in CORES:
        head += [f"merge, {cores} core{'s' if cores > 1 else ''}", "groups of 4", "of 16"]
    return table(head, [row(figures, ranks, bytes_) for ranks in SHOWN for bytes_ in SIZES])
