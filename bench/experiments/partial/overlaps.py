"""Overlap of an operation with a computation of its length, by who drives progress meanwhile."""

from grids import K, M, RANKS, SHOWN, between, size, table

SECTION = "overlap"
OPERATIONS = ["alltoall", "allreduce", "bcast"]
SIZES = [1 * K, 8 * K, 64 * K, 1 * M]
MODES = ["none", "shared", "thread"]


def grids():
    yield {"ranks": RANKS, "operation": OPERATIONS, "bytes": SIZES, "overlap": MODES}


def ratio(figures, mode, **wanted):
    run = figures.get(SECTION, overlap=mode, **wanted)
    comm, work = run["operation_us"], run["work_us"]
    return (comm + work - run["us"]) / max(comm, work)


def percent(value):
    return f"{100 * value:.0f}"


def claims(figures):
    """[what, published, simulated]"""
    said = []
    for mode in MODES:
        values = [ratio(figures, mode, ranks=256, operation=operation, bytes=bytes_)
                  for operation in OPERATIONS for bytes_ in SIZES]
        said.append(f"{mode}: {between(values, percent)} %")
    return [["overlap at 256 ranks, with a communication thread; without", "81 to 98 %; hardly any",
             "; ".join(said)]]


def tables(figures):
    head = ["operation", "size", *(f"{mode}, {ranks}" for mode in MODES for ranks in SHOWN)]
    rows = [[operation, size(bytes_),
             *(percent(ratio(figures, mode, ranks=ranks, operation=operation, bytes=bytes_))
               for mode in MODES for ranks in SHOWN)]
            for operation in OPERATIONS for bytes_ in SIZES]
    return table(head, rows)
