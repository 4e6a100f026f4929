"""Placement: what broadcasts and allgathers lose where ranks are dealt out, not filled in."""

from runs import K, M, cell, ms, ours, size, table, times

NODE = ("ig", 48, ["by-core", "by-socket"])
CLUSTERS = [("stremi", 768, ["by-core", "by-node"]), ("parapluie", 768, ["by-core", "by-node"])]
SIZES = {"bcast": [64 * K, 256 * K, 1 * M, 4 * M, 8 * M],
         "allgather": [16 * K, 64 * K, 256 * K, 1 * M]}
BLOCKS = [1 * K, 16 * K, 64 * K, 256 * K]  # on the clusters
# Plans that know nothing but rank numbers.
BY_RANKS = {"bcast": {"algorithm": "tree", "shape": "binary", "segment": 32 * K},
            "allgather": {"algorithm": "ring"}}


def rows_of_cells():
    """(text, {who: [cell of each placement]})"""
    machine, ranks, placements = NODE
    places = [(machine, ranks, placements, op, b) for op in SIZES for b in SIZES[op]]
    places += [(*cluster, "allgather", b) for cluster in CLUSTERS for b in BLOCKS]
    for machine, ranks, placements, operation, bytes_ in places:
        yield f"{operation}, {machine}, {size(bytes_)}", {
            "library": [ours(machine, ranks, operation, bytes_, placement=p) for p in placements],
            "ranks": [cell(machine, ranks, operation, bytes_, placement=p,
                           **BY_RANKS[operation]) for p in placements]}


def cells():
    for _, plans in rows_of_cells():
        for some in plans.values():
            yield from some


def loss(pair):
    return f"{100 * (pair[1] / pair[0] - 1):+.0f} %"


def ratios(figures, who, operation, is_cluster):
    """Least and greatest time dealt out over filled in."""
    pairs = [[figures.us(one) for one in plans[who]] for text, plans in rows_of_cells()
             if text.startswith(operation) and (NODE[0] not in text) == is_cluster]
    return min(b / a for a, b in pairs), max(b / a for a, b in pairs)


def claims(figures):
    """[what, published, simulated]"""
    def both(operation, is_cluster=False):
        _, most = ratios(figures, "library", operation, is_cluster)
        low, high = ratios(figures, "ranks", operation, is_cluster)
        return f"at most {times(most)} times; by rank numbers {times(low)} to {times(high)} times"
    return [
        ["bcast, IG, ranks dealt round sockets, over filled in",
         "below 1.14 times; Tuned above 1.45 times above 256 KB", both("bcast")],
        ["allgather, IG, the same", "stable; Tuned up to 1.58 times", both("allgather")],
        ["allgather, clusters, ranks dealt round nodes", "below 1.1 times; others 6 to 14 times",
         both("allgather", True)]]


def tables(figures):
    rows = []
    for text, plans in rows_of_cells():
        line = [text]
        for some in plans.values():
            us = [figures.us(one) for one in some]
            line += [ms(us[0]), loss(us)]
        rows.append(line)
    return table(["operation, machine, size", "the library", "dealt out", "by rank numbers",
                  "dealt out"], rows)
