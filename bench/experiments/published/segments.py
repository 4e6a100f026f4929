"""The size of a segment: broadcasts on 32 nodes of 24 ranks."""

from runs import K, M, cell, ms, ours, size, table, times

RANKS = 768
MACHINES = ["parapluie", "stremi"]
SHAPES = ["chain", "binary"]
SIZES = [1 * M, 2 * M, 4 * M, 8 * M]
SEGMENTS = [1 * K << i for i in range(12)]


def one(machine, bytes_, shape, segment):
    return cell(machine, RANKS, "bcast", bytes_, algorithm="tree", shape=shape, levels="flat",
                segment=segment)


def cells():
    for machine in MACHINES:
        for bytes_ in SIZES:
            yield ours(machine, RANKS, "bcast", bytes_)
            for shape in SHAPES:
                for segment in SEGMENTS:
                    if segment <= bytes_:
                        yield one(machine, bytes_, shape, segment)


def curve_of(figures, machine, shape, bytes_):
    return {segment: figures.us(one(machine, bytes_, shape, segment))
            for segment in SEGMENTS if segment <= bytes_}


def row(figures, machine, shape, bytes_):
    curve = curve_of(figures, machine, shape, bytes_)
    best = min(curve, key=curve.get)
    chosen = figures.us(ours(machine, RANKS, "bcast", bytes_))
    return [f"{size(bytes_)}, {shape}",
            *(ms(curve[s]) if s in curve else "" for s in SEGMENTS), size(best),
            times(curve[4 * K] / curve[64 * K]), times(curve[max(curve)] / curve[best]),
            times(chosen / curve[best])]


def claims(figures):
    """[what, published, simulated]"""
    rows = []
    for machine, shape, published in (
            ("parapluie", "binary", "64 KiB best; 4 KiB more than 3 times slower"),
            ("stremi", "chain", "a best size in between")):
        said = []
        for bytes_ in SIZES:
            curve = curve_of(figures, machine, shape, bytes_)
            said.append(f"{size(min(curve, key=curve.get))} "
                        f"({times(curve[4 * K] / curve[64 * K])})")
        rows.append([f"best segment, bcast of 1, 2, 4, 8 MiB, {machine}, {shape} (4 over 64 KiB)",
                     published, ", ".join(said)])
    return rows


def tables(figures):
    lines = []
    head = ["message, tree of nodes", *map(size, SEGMENTS), "best", "4 KiB / 64 KiB",
            "largest / best", "the library's choice / best"]
    for machine in MACHINES:
        lines += ["", f"#### {machine} (simulated)", ""]
        lines += table(head, [row(figures, machine, shape, bytes_)
                              for shape in SHAPES for bytes_ in SIZES])
    return lines
