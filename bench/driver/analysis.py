"""From launches to a table: which launches count, medians, floors, ratios and targets.

A launch of two ranks is *near* or *far* by its cache-line time, and *moved* when that changed
during the launch. It is *noisy* when others used the CPUs. Moved and noisy launches count only
where a library has no others; near launches are compared with near ones.
"""

import math
import statistics

from plan import BLOCKS, BUFFERS

MOVED_RATIO = 1.4
FOREIGN_SHARE = 0.05  # of all CPU time of the machine during the launch
STOLEN_SHARE = 0.02
RUN_DELAY_SHARE = 0.05  # of a row's time, where every rank has a core


def is_moved(launch: dict) -> bool:
    before, after = launch["proximity_ns"]["before"], launch["proximity_ns"]["after"]
    if min(before, after) <= 0:
        return False
    return max(before, after) / min(before, after) > MOVED_RATIO


def is_noisy(launch: dict) -> bool:
    load = launch["load"]
    available = max(load["wall_s"], 1e-9) * launch["host"]["cpus"]
    foreign, stolen = load["foreign_s"] / available, load["stolen_s"] / available
    return foreign > FOREIGN_SHARE or stolen > STOLEN_SHARE


def is_dirty(launch: dict) -> bool:
    return is_moved(launch) or is_noisy(launch)


def distance(launch: dict, near_ns: float) -> str:
    ns = launch["proximity_ns"]["before"]
    if ns <= 0:
        return "unknown"
    return "near" if ns < near_ns else "far"


def usable(launches_of: dict, near_ns: float) -> tuple:
    """({library: launches}, distance): the distance that most libraries' clean launches share."""
    clean = {
        name: [one for one in launches if not is_dirty(one)] or launches
        for name, launches in launches_of.items()
    }
    tags = {distance(one, near_ns) for launches in clean.values() for one in launches}

    def count(tag):  # of the library that has fewest such launches
        per_library = (
            sum(distance(one, near_ns) == tag for one in launches) for launches in clean.values()
        )
        return min(per_library)

    best = max(sorted(tags), key=count)
    if count(best) == 0:
        return clean, "mixed"
    kept = {
        name: [one for one in launches if distance(one, near_ns) == best]
        for name, launches in clean.items()
    }
    return kept, best


def cell_us(launches: list, op: str, size: int, crowded: bool):
    """Median over launches of the row's median; None where there is no right result."""
    rows = [
        row
        for launch in launches
        for row in launch["rows"]
        if row["op"] == op and row["bytes"] == size and row["correct"]
    ]
    if not rows:
        return None
    quiet = [row for row in rows if crowded or row["run_delay_share"] <= RUN_DELAY_SHARE]
    return statistics.median(row["median_us"] for row in (quiet or rows))


class Floors:
    """Floors by name and size: of several launches the lowest, for a floor is what can be had."""

    def __init__(self, launches: list):
        found = {}
        for launch in launches:
            for floor in launch["floors"]:
                key = (floor["name"], floor["bytes"])
                known = found.setdefault(key, floor)
                if floor["samples"] > 0 and floor["median_us"] < known["median_us"]:
                    found[key] = floor
        self._floors = found

    def all(self) -> list:
        return list(self._floors.values())

    def us(self, name: str, size: int = 0):
        floor = self._floors.get((name, size))
        return floor["median_us"] if floor and floor["samples"] > 0 else None

    def of(self, op: str, ranks: int, size: int, cores: int):
        """The least time for the operation in us, None where no floor is known.

        docs/performance.md, "Floors", derives each line.
        """
        line, hop = self.us("line"), self.us("yield-hop")
        if line is None or hop is None:
            return None
        if op == "barrier":
            return line * math.ceil(math.log2(ranks)) if ranks <= cores else hop * ranks / cores
        copy, add = self.us("copy-peer", size), self.us("add", size)
        if copy is None or add is None:
            return None
        combine = self.us("add-peer", size) or max(copy, add)
        if ranks > cores:
            shared = {
                "bcast": (ranks - 1) * copy / cores,
                "reduce": (ranks - 1) * combine / cores,
                "allreduce": max((ranks - 1) * (combine + copy) / cores, hop * ranks / cores),
            }
            # Tiny rooted operations are pipelined over calls: no hop per call is necessary.
            return shared.get(op) if size > 64 or op == "allreduce" else None
        alone = {
            "p2p-latency": line + copy,
            "p2p-bandwidth": copy,
            "bcast": line + copy,
            "reduce": line + combine,
            "allreduce": 2 * line + combine / 2 + copy / 2,
            "scan": line + combine,
            "exscan": line + copy,
        }
        if op in alone or ranks > 2:
            return alone.get(op)
        return self._of_two_with_blocks(op, line, copy, combine, self.us("copy", size))

    @staticmethod
    def _of_two_with_blocks(op: str, line, copy, combine, own):
        """`own`: of a copy that stays with its rank. Each rank writes its own output, but a root's
        is written by both."""
        if op in ("allgather", "alltoall", "neighbor_allgather"):
            return line + copy + own if own is not None else None
        if op == "neighbor_alltoall":  # two blocks of the one other rank
            return line + 2 * copy
        if op.startswith("reduce_scatter"):
            return line + combine
        return line + copy if op in BLOCKS else None


def verdict(ours, best_peer, target_ratio) -> str:
    """hit: at or below the target's ratio to the best peer; ahead: better than the peer; miss."""
    if ours is None or best_peer is None:
        return ""
    ratio = ours / best_peer
    if target_ratio is not None and ratio <= target_ratio:
        return "hit"
    if ratio < 1.0:
        return "ahead" if target_ratio is not None else "hit"
    return "MISS"


def shortfall(cell: dict, ours: str) -> str:
    """Why a cell does not reach its target, as far as the floors tell; empty when it does."""
    time, best, floor = cell["us"].get(ours), cell["best_peer_us"], cell["floor_us"]
    if cell["verdict"] not in ("ahead", "MISS") or time is None:
        return ""
    aim = cell["target_ratio"] or 1.0
    if floor is None:
        return "no floor is known"
    over = f"{time / floor:.1f} x the floor"
    if floor > aim * best:
        return f"out of reach here: the floor is {floor / best:.2f} of the best peer; {over}"
    return f"within reach: the floor is {floor / best:.2f} of the best peer; {over}"


def compare(results: dict, floors: Floors, targets: dict, ours: str, cores: int) -> list:
    """Cells in plan order: one dict per (ranks, op, size)."""
    targets_of = {(c["ranks"], c["op"], c["bytes"]): c for c in targets["cells"]}
    cells = []
    for step, launches_of in results.items():
        present = {name: some for name, some in launches_of.items() if some}
        if not present:
            continue
        kept, tag = usable(present, targets["near_ns"])
        # Targets and floors are for data that is not in the reader's cache.
        rewritten = step.buffers == BUFFERS[0]
        wanted = targets_of if rewritten else {}
        for op, size in step.cells():
            us = {
                name: cell_us(launches, op, size, step.ranks > cores)
                for name, launches in kept.items()
            }
            cell = make_cell(step.ranks, op, size, us, tag, wanted, ours)
            floor = floors.of(op, step.ranks, size, cores) if rewritten else None
            cells.append({**cell, "buffers": step.buffers, "floor_us": floor})
    return cells


def make_cell(ranks, op, size, us, tag, wanted, ours) -> dict:
    peers = {name: t for name, t in us.items() if name != ours and t is not None}
    best = min(peers, key=peers.get) if peers else None
    best_us = peers.get(best)
    mine = us.get(ours)
    target = wanted.get((ranks, op, size))
    target_ratio = target["target_us"] / target["peer_us"] if target else None
    return {
        "ranks": ranks,
        "op": op,
        "bytes": size,
        "distance": tag,
        "us": us,
        "best_peer": best,
        "best_peer_us": best_us,
        "ratio": mine / best_us if mine and best_us else None,
        "target_us": target["target_us"] if target else None,
        "target_ratio": target_ratio,
        "verdict": verdict(mine, best_us, target_ratio),
    }
