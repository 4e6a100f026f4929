"""What is measured: operations, sizes and budgets per number of ranks."""

import dataclasses

KIB, MIB = 1 << 10, 1 << 20
SIZES_PAIR = [8, KIB, 16 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB]
SIZES_CROWD = [8, 16 * KIB, MIB]
COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce"]
POINT_TO_POINT = ["p2p-latency", "p2p-bandwidth"]


@dataclasses.dataclass(frozen=True)
class Step:
    """One launch per library and round."""

    ranks: int
    ops: tuple
    sizes: tuple
    budget_ms: float
    samples_min: int

    def args(self) -> list:
        return [
            "--op", ",".join(self.ops),
            "--bytes", ",".join(str(size) for size in self.sizes),
            "--budget-ms", str(self.budget_ms),
            "--samples-min", str(self.samples_min),
        ]  # fmt: skip

    def limit_s(self) -> float:
        """For the slowest library seen: spinning ranks need up to 0.2 s per call."""
        rows = len(self.ops) * len(self.sizes)
        return 30.0 + rows * (0.02 * self.budget_ms + 0.5 * self.ranks)


@dataclasses.dataclass(frozen=True)
class Plan:
    steps: tuple
    rounds: int  # launches per library and step
    retries: int  # further launches per library and step, for dirty ones
    startup_ranks: tuple
    startup_repeats: int
    idle_s: float


def make_plan(ranks: list, quick: bool, smoke: bool) -> Plan:
    if smoke:
        steps = [Step(n, ("barrier", "bcast"), (8, 64 * KIB), 2.0, 3) for n in ranks]
        return Plan(tuple(steps), 1, 0, (2,), 1, 0.2)
    steps = []
    for n in ranks:
        pair = n == 2
        ops = COLLECTIVES + (POINT_TO_POINT if pair else [])
        sizes = SIZES_PAIR if pair else SIZES_CROWD
        if quick:
            sizes = [size for size in sizes if size != 16 * MIB and (pair or size != 16 * KIB)]
        budget_ms = (30.0 if quick else 60.0) if pair else (40.0 if quick else 80.0)
        steps.append(Step(n, tuple(ops), tuple(sizes), budget_ms, 5 if pair else 3))
    if quick:
        return Plan(tuple(steps), 2, 1, (2, 16, 128), 1, 1.0)
    return Plan(tuple(steps), 5, 2, (2, 4, 8, 16, 32, 64, 128), 3, 2.0)
