"""What a table comes to, beside the aims of every table.

No cell above RATIO_MAX of the best peer's time, half of them at or below MEDIAN_MAX, and two ranks
within FLOOR_MAX of the floor from FLOOR_FROM bytes up.
"""

import statistics

RATIO_MAX, MEDIAN_MAX, FLOOR_MAX = 1.05, 0.6, 1.5
FLOOR_FROM, FLOOR_RANKS = 256 << 10, 2


def name(cell: dict, human_size) -> str:
    return cell["op"] + (f" {human_size(cell['bytes'])}" if cell["bytes"] else "")


def over_floors(cells: list, ours: str) -> list:
    """[(time / floor, cell)] of the cells that the aim is for and whose floor is known."""
    found = []
    for cell in cells:
        time, floor = cell["us"].get(ours), cell.get("floor_us")
        if time and floor and cell["bytes"] >= FLOOR_FROM:
            found.append((time / floor, cell))
    return found


def total(cells: list, ours: str, ranks: int) -> dict:
    """Of the cells of one table."""
    known = [cell for cell in cells if cell["ratio"] is not None]
    floors = over_floors(cells, ours) if ranks == FLOOR_RANKS else []
    return {
        "cells": len(known),
        "unknown": len(cells) - len(known),
        "median": statistics.median(cell["ratio"] for cell in known) if known else None,
        "worst": max(known, key=lambda cell: cell["ratio"], default=None),
        "above": sorted((cell for cell in known if cell["ratio"] > RATIO_MAX),
                        key=lambda cell: -cell["ratio"]),
        "floors": len(floors),
        "above_floor": sum(over > FLOOR_MAX for over, _ in floors),
        "worst_floor": max(floors, key=lambda one: one[0], default=None),
    }  # fmt: skip


def line(cells: list, ours: str, ranks: int, human_size) -> str:
    """The total in words."""
    of = total(cells, ours, ranks)
    text = f"{of['cells']} cells"
    if of["worst"] is not None:
        worst = f"{of['worst']['ratio']:.2f} ({name(of['worst'], human_size)})"
        text += f", median ratio {of['median']:.2f} (aim {MEDIAN_MAX}), worst {worst}"
        text += f", above {RATIO_MAX}: {len(of['above'])}"
        if of["above"]:
            each = (f"{name(cell, human_size)} {cell['ratio']:.2f}" for cell in of["above"])
            text += f" ({', '.join(each)})"
    if of["worst_floor"] is not None:
        over, cell = of["worst_floor"]
        text += (f"; from {human_size(FLOOR_FROM)} above {FLOOR_MAX} x the floor: "
                 f"{of['above_floor']} of {of['floors']}, worst {over:.2f} "
                 f"({name(cell, human_size)})")  # fmt: skip
    if of["unknown"]:
        text += f"; {of['unknown']} more without a time to compare"
    return text + "."
