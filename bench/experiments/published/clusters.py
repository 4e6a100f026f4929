"""768 ranks of two clusters: broadcast, reduction, allgather; flat and two-level plans beside."""

from runs import K, M, cell, ms, ours, size, table, times

RANKS = 768
MACHINES = ["stremi", "parapluie"]
SIZES = [8 * K, 32 * K, 64 * K, 256 * K, 1 * M, 4 * M, 8 * M]
BLOCKS = [1 * K, 16 * K, 64 * K, 256 * K]
TREES = {"bcast": "flat", "reduce": "chain"}  # inside a node


def plans(machine, operation, bytes_):
    """{name: cell}, of operations with trees."""
    def tree(**more):
        return cell(machine, RANKS, operation, bytes_, algorithm="tree", **more)
    levels = TREES[operation]
    return {
        "the library": ours(machine, RANKS, operation, bytes_),
        "by-node": ours(machine, RANKS, operation, bytes_, placement="by-node"),
        "binary, 8 KiB": tree(shape="binary", levels=levels, segment=8 * K),
        "chain, 8 KiB": tree(shape="chain", levels=levels, segment=8 * K),
        "binary, 64 KiB": tree(shape="binary", levels=levels, segment=64 * K),
        "chain, 64 KiB": tree(shape="chain", levels=levels, segment=64 * K),
        "two levels": tree(shape="binomial", levels="flat", segment=bytes_),
        "flat binomial": tree(shape="binomial", placement="by-node", segment=bytes_),
        "flat chain": tree(shape="chain", placement="by-node", segment=64 * K),
        "flat binomial, by-core": tree(shape="binomial", segment=bytes_),
        "flat chain, by-core": tree(shape="chain", segment=64 * K)}


def allgathers(machine, bytes_):
    def one(algorithm, **more):
        return cell(machine, RANKS, "allgather", bytes_, algorithm=algorithm, **more)
    return {
        "the library": ours(machine, RANKS, "allgather", bytes_),
        "by-node": ours(machine, RANKS, "allgather", bytes_, placement="by-node"),
        "flat ring, by-core": one("ring"),
        "flat ring, by-node": one("ring", placement="by-node")}


def cells():
    for machine in MACHINES:
        for operation in TREES:
            for bytes_ in SIZES:
                yield from plans(machine, operation, bytes_).values()
        for bytes_ in BLOCKS:
            yield from allgathers(machine, bytes_).values()


TUNED = ["binary, 8 KiB", "chain, 8 KiB", "binary, 64 KiB", "chain, 64 KiB"]


def best_of(us):
    return min(us[name] for name in TUNED)


def flat_of(us):
    return min(us["flat binomial"], us["flat chain"])


def tree_row(figures, machine, operation, bytes_):
    us = {name: figures.us(one) for name, one in plans(machine, operation, bytes_).items()}
    tuned = min(TUNED, key=us.get)
    flat = flat_of(us)
    return [size(bytes_), ms(us["the library"]), ms(us["by-node"]),
            f"{ms(us[tuned])} ({tuned})", times(us["the library"] / us[tuned]),
            ms(us["two levels"]), times(us["two levels"] / us[tuned]), ms(us["flat binomial"]),
            ms(us["flat chain"]), times(flat / us["the library"]), times(flat / us[tuned]),
            ms(us["flat binomial, by-core"]), ms(us["flat chain, by-core"])]


def span(values):
    values = list(values)
    return f"{times(min(values))} to {times(max(values))} times"


def claims(figures):
    """[what, published, simulated]"""
    def us(operation, bytes_):
        return {name: figures.us(one) for name, one in plans("stremi", operation, bytes_).items()}
    small = [us("bcast", bytes_) for bytes_ in SIZES if bytes_ <= 256 * K]
    large = [us("reduce", bytes_) for bytes_ in SIZES if bytes_ >= 4 * M]
    return [
        ["bcast of 8 to 256 KB, Stremi: flat by-node, over ours", "up to 30 times",
         "over the library " + span(flat_of(one) / one["the library"] for one in small) +
         ", over the best " + span(flat_of(one) / best_of(one) for one in small)],
        ["the same: two levels without overlap, over ours", "more than 2 times",
         "over the library " + span(one["two levels"] / one["the library"] for one in small) +
         ", over the best " + span(one["two levels"] / best_of(one) for one in small)],
        ["reduce above 4 MB, Stremi: flat, over ours", "Tuned 1.19 to 1.28 times",
         "flat chain, by-core, over the best " +
         span(one["flat chain, by-core"] / best_of(one) for one in large)]]


def tables(figures):
    lines = []
    head = ["message", "the library", "by-node", "best of four", "library / best", "two levels",
            "two levels / best", "flat binomial", "flat chain", "flat / library", "flat / best",
            "flat binomial, by-core", "flat chain, by-core"]
    for machine in MACHINES:
        for operation in TREES:
            lines += ["", f"#### {operation}, {machine} (simulated)", ""]
            lines += table(head, [tree_row(figures, machine, operation, b) for b in SIZES])
        lines += ["", f"#### allgather, {machine} (simulated)", ""]
        rows = []
        for bytes_ in BLOCKS:
            us = {name: figures.us(one) for name, one in allgathers(machine, bytes_).items()}
            rows.append([size(bytes_), *map(ms, us.values()),
                         times(us["flat ring, by-node"] / us["by-node"])])
        lines += table(["block", *allgathers(machine, 1), "flat / library, by-node"], rows)
    return lines
