"""Heat on a grid of ranks: the inner part meanwhile, the outer one at the end or block by block."""

from grids import CORES, between, size, table, time

SECTION = "halo"
RANKS = [16, 64, 256]
POINTS = [32, 64, 128, 256, 512, 1024]  # of an edge of a rank's square, 8 bytes each
POINT_NS = 1  # of one core
THREADS = 24
OVERHEADS_US = 0.8  # of both ends of a message between nodes: the machine file


def inner_ns(points, cores):
    return round((points - 2) ** 2 * POINT_NS / cores)


def rate(cores):
    return f"{8 * cores}GB/s"


def grids():
    for cores in CORES:
        for points in POINTS:
            yield {"ranks": RANKS, "operation": "neighbor_alltoall", "bytes": 8 * points,
                   "overlap": "thread", "work": f"{inner_ns(points, cores)}ns",
                   "consumer": ["after", "partial"], "consume": rate(cores)}


def run(figures, cores, ranks, points, consumer):
    return figures.get(SECTION, consume=rate(cores), ranks=ranks, bytes=8 * points,
                       consumer=consumer)


def gain(figures, cores, ranks, points):
    """Percent."""
    after, partial = (run(figures, cores, ranks, points, name)["us"]
                      for name in ("after", "partial"))
    return 100 * (after / partial - 1)


def claims(figures):
    """[what, published, simulated]"""
    said = []
    for cores in CORES:
        hidden = [n for n in POINTS if all(gain(figures, cores, p, n) < 0.05 for p in RANKS)]
        others = [n for n in POINTS if n not in hidden]
        gains = between((gain(figures, cores, p, n) for p in RANKS for n in others),
                        lambda value: f"{value:.1f}")
        said.append(f"{cores} core{'s' if cores > 1 else ''}: {gains} % up to {max(others)} points "
                    "per edge, then 0")
    return [["heat, outer part block by block, over at the end", "1 to 3 %", "; ".join(said)]]


def tables(figures):
    ranks = RANKS[-1]
    rows = []
    for cores in CORES:
        for points in POINTS:
            after, partial = (run(figures, cores, ranks, points, name)
                              for name in ("after", "partial"))
            rows.append([cores, points, size(8 * points), time(after["operation_us"]),
                         time(inner_ns(points, cores) / 1e3),
                         time(4 * points * POINT_NS / cores / 1e3), time(after["us"]),
                         time(partial["us"]),
                         f"{round(gain(figures, cores, ranks, points), 1) + 0.0} %"])
    many = 2 * THREADS + 2
    return table(["cores", "points per edge", "block", "exchange", "inner part", "outer part",
                  "at the end", "block by block", "gain"], rows) + [
        "", f"Messages per rank and step: 4 of one sender; {many} of {THREADS} threads that send "
        f"their own parts (2 t + 2), at {OVERHEADS_US} us of both processors each: "
        f"{(many - 4) * OVERHEADS_US:.0f} us more per step where one processor pays for all."]
