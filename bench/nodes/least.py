"""The least time of a cell between nodes, if messages cost what a plain socket's stream costs.

Blocks go to a node once, whoever needs them there, and sums of a node leave it as one; ranks fill
the nodes in turn. The lengths are those of bench/esp-bench/block_layout.hpp.
"""


def _extents(ranks: int) -> tuple:
    rows = max(n for n in range(1, ranks + 1) if n * n <= ranks and ranks % n == 0)
    return (ranks,) if rows == 1 else (rows, ranks // rows)


def _neighbors(rank: int, ranks: int) -> list:
    extents = _extents(ranks)
    columns = extents[-1]
    row, column = divmod(rank, columns)
    found = [row * columns + (column + step) % columns for step in (-1, 1)]
    if len(extents) == 2:
        found += [(row + step) % extents[0] * columns + column for step in (-1, 1)]
    return found


def transfers(op: str, nodes: int, per_node: int) -> int | None:
    """The least number of blocks, or messages, that go from one node to another; None: no size."""
    ranks, others = nodes * per_node, nodes - 1
    node = [rank // per_node for rank in range(ranks)]
    pairs = [(a, b) for a in range(ranks) for b in range(ranks) if node[a] != node[b]]
    edges = [(a, b) for a in range(ranks) for b in _neighbors(a, ranks) if node[a] != node[b]]
    of = {
        "allreduce": 2 * others,
        "allgather": ranks * others,
        "allgatherv": (ranks - 1) * others,
        "gatherv-skewed": 1,
        "alltoall": len(pairs),
        "alltoallv": sum((a + b) % ranks != 0 for a, b in pairs),
        "alltoallv-skewed": others * per_node,
        "neighbor_allgather": len({(a, node[b]) for a, b in edges}),
        "neighbor_alltoall": len(edges),
    }
    of |= dict.fromkeys(("bcast", "reduce", "scan", "exscan", "allgatherv-skewed",
                         "reduce_scatter-skewed", "p2p-bandwidth"), others)  # fmt: skip
    of |= dict.fromkeys(("gather", "gatherv", "scatter", "scatterv"), others * per_node)
    of |= dict.fromkeys(("reduce_scatter_block", "reduce_scatter"), ranks * others)
    of["alltoallw"] = of["alltoallv"]
    return of.get(op)


def least_us(costs: dict, cell: dict, cores: int) -> float | None:
    """The processor time of the least transfers between nodes, shared by the cores without a gap;
    and not less than one stream's time. None where it is not known."""
    floor = costs.get("floor", {})
    work = floor.get("work", {}).get(cell["bytes"])
    count = transfers(cell["op"], cell["nodes"], cell["per_node"])
    if cell["buffers"] != "rewritten":
        return None
    if cell["op"] == "p2p-latency":
        return floor.get("socket", {}).get(cell["bytes"])
    if work is None or count is None:
        return None
    shared = count * work / min(cores, cell["nodes"])
    return max(shared, floor.get("stream", {}).get(cell["bytes"], 0))
