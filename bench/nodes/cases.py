"""What is measured between nodes: layouts, each with the same steps."""

import dataclasses

from launchers import Layout
from plan import BLOCKS, COLLECTIVES, KIB, MIB, POINT_TO_POINT, Step

SIZES = (8, KIB, 4 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)
SIZES_BLOCKS = (8, 16 * KIB, 256 * KIB)
OPS = (*COLLECTIVES, *POINT_TO_POINT, *BLOCKS)
BUDGET_MS, SAMPLES_MIN = 40.0, 5


@dataclasses.dataclass(frozen=True)
class Case:
    """One launch per library and round."""

    layout: Layout
    step: Step

    def __str__(self) -> str:
        ops = self.step.ops
        named = ops[0] if len(ops) == 1 else f"{ops[0]} to {ops[-1]}"
        return f"{self.layout}, {named}, buffers {self.step.buffers}"


def make_cases(layouts, ops=OPS, sizes=(), buffers=("rewritten",), budget_ms=BUDGET_MS) -> list:
    """Of the operations named, point to point only where there are two ranks; `sizes` in place of
    those that each operation is measured with."""
    cases = []
    for way in buffers:
        for layout in layouts:
            first = (*COLLECTIVES, *(POINT_TO_POINT if layout.ranks == 2 else ()))
            for group, usual in ((first, SIZES), (BLOCKS, SIZES_BLOCKS)):
                mine = tuple(op for op in group if op in ops)
                if mine:
                    step = Step(layout.ranks, mine, tuple(sizes or usual), budget_ms, SAMPLES_MIN,
                                way)  # fmt: skip
                    cases.append(Case(layout, step))
    return cases


def sizes_of(cases: list) -> list:
    return sorted({size for case in cases for size in case.step.sizes})
