"""What is measured: operations, sizes and budgets per number of ranks."""

import dataclasses

KIB, MIB = 1 << 10, 1 << 20
SIZES_PAIR = [8, KIB, 16 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB]
SIZES_CROWD = [8, 16 * KIB, MIB]
SIZES_BLOCKS = [8, KIB, 16 * KIB, 256 * KIB, MIB]
# Of one block, of which a rank of many has many. Libraries that spin take minutes there as it is.
SIZES_BLOCKS_MANY = [8, 16 * KIB, 256 * KIB]
MANY_RANKS = 8
COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce"]
POINT_TO_POINT = ["p2p-latency", "p2p-bandwidth"]
# Of blocks, for each rank or neighbour, and scans.
BLOCKS = [
    "allgather", "allgatherv", "allgatherv-skewed", "gather", "gatherv", "gatherv-skewed",
    "scatter", "scatterv", "alltoall", "alltoallv", "alltoallv-skewed", "alltoallw",
    "reduce_scatter_block", "reduce_scatter", "reduce_scatter-skewed", "scan", "exscan",
    "neighbor_allgather", "neighbor_alltoall",
]  # fmt: skip
BUFFERS = ("rewritten", "reused")  # esp-bench --buffers: its own way, and that of OSU
ROW_S = 60.0  # the longest that one row has been seen to take


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
            "--limit-s", f"{self.rows_s():g}",
            "--samples-min", str(self.samples_min),
            "--buffers", self.buffers,
        ]  # fmt: skip

    def cells(self) -> list:
        """Its (operation, bytes), in the order in which they are measured; a barrier has none."""
        return [(op, size) for op in self.ops for size in ((0,) if op == "barrier" else self.sizes)]

    def rows_s(self) -> float:
        """No row begins after this. Ranks that spin need up to 0.2 s per call, and 2.4 s per row
        with 16 on two cores."""
        return 15.0 + len(self.cells()) * (0.15 * self.ranks + 0.005 * self.budget_ms)

    def limit_s(self) -> float:
        """When a launch is ended from outside, and all that it measured is lost."""
        return self.rows_s() + ROW_S + 30.0

    def slow_s(self) -> float:
        """More than this takes a library whose calls take milliseconds."""
        return 13.0 + len(self.cells()) * (0.02 * self.ranks + 0.002 * self.budget_ms)


@dataclasses.dataclass(frozen=True)
class Plan:
    steps: tuple
    rounds: int  # launches per library and step
    retries: int  # further launches per library and step, for dirty ones
    startup_ranks: tuple
    startup_repeats: int
    idle_s: float


def sizes_of_blocks(ranks: int) -> list:
    if ranks == 2:
        return SIZES_BLOCKS
    return SIZES_CROWD if ranks < MANY_RANKS else SIZES_BLOCKS_MANY


def steps_of(ranks: int, quick: bool) -> list:
    """What `ranks` ranks measure where nothing is named."""
    pair = ranks == 2
    sizes, blocks = SIZES_PAIR if pair else SIZES_CROWD, sizes_of_blocks(ranks)
    if quick:
        sizes = [size for size in sizes if size != 16 * MIB and (pair or size != 16 * KIB)]
        blocks = [KIB, 256 * KIB] if pair else []
    ops = COLLECTIVES + (POINT_TO_POINT if pair else [])
    steps = [make_step(ranks, ops, sizes, quick)]
    if blocks:
        steps.append(make_step(ranks, BLOCKS, blocks, quick))
    return steps


def make_step(ranks: int, ops: list, sizes: list, quick: bool) -> Step:
    pair = ranks == 2
    budget_ms = (30.0 if quick else 60.0) if pair else (40.0 if quick else 80.0)
    return Step(ranks, tuple(ops), tuple(sizes), budget_ms, 5 if pair else 3)


def make_plan(ranks: list, quick: bool, smoke: bool, ops=(), sizes=(), buffers=BUFFERS) -> Plan:
    """`ops`: these alone; `sizes`: of all operations; `buffers`: everything with each of these."""
    if smoke:
        few = tuple(ops) or ("barrier", "bcast")
        steps = [Step(n, few, (8, 64 * KIB), 2.0, 3) for n in ranks]
    elif ops:
        steps = [make_step(n, ops, sizes_of_blocks(n), quick) for n in ranks]
    else:
        steps = [step for n in ranks for step in steps_of(n, quick)]
    if sizes:
        steps = [dataclasses.replace(step, sizes=tuple(sizes)) for step in steps]
    steps = tuple(dataclasses.replace(step, buffers=way) for way in buffers for step in steps)
    if smoke:
        return Plan(steps, 1, 0, (2,), 1, 0.2)
    if quick:
        return Plan(steps, 2, 1, (2, 16, 128), 1, 1.0)
    return Plan(steps, 5, 2, (2, 4, 8, 16, 32, 64, 128), 3, 2.0)
