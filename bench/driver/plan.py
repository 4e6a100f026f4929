"""What is measured: operations, sizes and budgets per number of ranks."""

import dataclasses

KIB, MIB = 1 << 10, 1 << 20
SIZES_PAIR = [8, KIB, 16 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB]
SIZES_CROWD = [8, 16 * KIB, MIB]
SIZES_BLOCKS = [8, KIB, 16 * KIB, 256 * KIB, MIB]
COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce"]
POINT_TO_POINT = ["p2p-latency", "p2p-bandwidth"]
# Of blocks, for each rank or neighbour, and scans. Libraries that spin take minutes for them with
# many ranks to a core.
BLOCKS = [
    "allgather", "allgatherv", "allgatherv-skewed", "gather", "gatherv", "gatherv-skewed",
    "scatter", "scatterv", "alltoall", "alltoallv", "alltoallv-skewed", "alltoallw",
    "reduce_scatter_block", "reduce_scatter", "scan", "exscan", "neighbor_allgather",
    "neighbor_alltoall",
]  # fmt: skip
BLOCKS_RANKS_MAX = 4
BUFFERS = ("rewritten", "reused")  # esp-bench --buffers: its own way, and that of OSU


@dataclasses.dataclass(frozen=True)
class Step:
    """One launch per library and round."""

    ranks: int
    ops: tuple
    sizes: tuple
    budget_ms: float
    samples_min: int
    buffers: str = BUFFERS[0]

    def args(self) -> list:
        return [
            "--op", ",".join(self.ops),
            "--bytes", ",".join(str(size) for size in self.sizes),
            "--budget-ms", str(self.budget_ms),
            "--samples-min", str(self.samples_min),
            "--buffers", self.buffers,
        ]  # fmt: skip

    def limit_s(self) -> float:
        """For the slowest library seen: spinning ranks need up to 0.2 s per call."""
        return 30.0 + self.rows() * (0.02 * self.budget_ms + 0.5 * self.ranks)

    def slow_s(self) -> float:
        """More than this takes a library whose calls take milliseconds."""
        return 13.0 + self.rows() * 0.002 * self.budget_ms

    def rows(self) -> int:
        return len(self.ops) * len(self.sizes)


@dataclasses.dataclass(frozen=True)
class Plan:
    steps: tuple
    rounds: int  # launches per library and step
    retries: int  # further launches per library and step, for dirty ones
    startup_ranks: tuple
    startup_repeats: int
    idle_s: float


def steps_of(ranks: int, quick: bool) -> list:
    """What `ranks` ranks measure where nothing is named."""
    pair = ranks == 2
    sizes, blocks = (SIZES_PAIR, SIZES_BLOCKS) if pair else (SIZES_CROWD, SIZES_CROWD)
    if quick:
        sizes = [size for size in sizes if size != 16 * MIB and (pair or size != 16 * KIB)]
        blocks = [KIB, 256 * KIB] if pair else []
    ops = COLLECTIVES + (POINT_TO_POINT if pair else [])
    steps = [make_step(ranks, ops, sizes, quick)]
    if blocks and ranks <= BLOCKS_RANKS_MAX:
        steps.append(make_step(ranks, BLOCKS, blocks, quick))
    return steps


def make_step(ranks: int, ops: list, sizes: list, quick: bool) -> Step:
    pair = ranks == 2
    budget_ms = (30.0 if quick else 60.0) if pair else (40.0 if quick else 80.0)
    return Step(ranks, tuple(ops), tuple(sizes), budget_ms, 5 if pair else 3)


def make_plan(ranks: list, quick: bool, smoke: bool, ops=(), sizes=(), reused=False) -> Plan:
    """`ops`: these alone; `sizes`: of all operations; `reused`: all once more with such buffers."""
    if smoke:
        few = tuple(ops) or ("barrier", "bcast")
        steps = [Step(n, few, (8, 64 * KIB), 2.0, 3) for n in ranks]
    elif ops:
        steps = [make_step(n, ops, SIZES_BLOCKS if n == 2 else SIZES_CROWD, quick) for n in ranks]
    else:
        steps = [step for n in ranks for step in steps_of(n, quick)]
    if sizes:
        steps = [dataclasses.replace(step, sizes=tuple(sizes)) for step in steps]
    if reused:
        steps += [dataclasses.replace(step, buffers=BUFFERS[1]) for step in steps]
    if smoke:
        return Plan(tuple(steps), 1, 0, (2,), 1, 0.2)
    if quick:
        return Plan(tuple(steps), 2, 1, (2, 16, 128), 1, 1.0)
    return Plan(tuple(steps), 5, 2, (2, 4, 8, 16, 32, 64, 128), 3, 2.0)
