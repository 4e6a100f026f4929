"""From launches to ratios, and the page of them.

A launch's number is the median of its samples. Launches count in which the cores were near and
stayed so; where Espalier or all others have none, all launches. Of each library's launches of a
layout, and of one way of dealing the nodes out to the cores, the median counts; a cell is the mean
over the ways of dealing.
"""

import datetime
import json
import pathlib
import statistics

from analysis import distance, is_moved
from launchers import OURS
from report import human_size, number, table

LARGE = 64 << 10
TARGET_LARGE = 1 / 1.3  # from LARGE up: at least 1.3 times faster than the best peer
TARGET_SMALL = 1.05  # below: at most this times its time
_TARGETS = pathlib.Path(__file__).resolve().parents[1] / "targets.json"
NEAR_NS = json.loads(_TARGETS.read_text())["near_ns"]


def _foreign(launch: dict) -> float:
    load = launch["load"]
    return (load["foreign_s"] + load["stolen_s"]) / max(load["wall_s"], 1e-9)


def is_near(launch: dict) -> bool:
    """Also where it is not known: one core, or no probe."""
    return distance(launch, NEAR_NS) != "far" and not is_moved(launch)


def times_us(launches: list, op: str, size: int) -> dict:
    """By the way of dealing."""
    deals = {}
    for launch in launches:
        for row in launch["rows"]:
            if row["op"] == op and row["bytes"] == size and row["correct"]:
                deals.setdefault(launch["dealt"], []).append(row["median_us"])
    return {way: statistics.median(times) for way, times in deals.items()}


def make_cell(layout, op: str, size: int, us: dict) -> dict:
    """`us`: by library and way of dealing. A library that some way has no time of is compared over
    the others."""
    ours = us.get(OURS, {})
    ratios = {}
    for name, theirs in us.items():
        both = ours.keys() & theirs.keys()
        if name != OURS and both:
            ratios[name] = sum(ours[way] for way in both) / sum(theirs[way] for way in both)
    best = max(ratios, key=ratios.get) if ratios else None
    ratio = ratios.get(best)
    us = {name: statistics.mean(of.values()) if of else None for name, of in us.items()}
    target = TARGET_LARGE if size >= LARGE else TARGET_SMALL
    return {
        "nodes": layout.nodes, "per_node": layout.per_node, "op": op, "bytes": size, "us": us,
        "best_peer": best, "ratio": ratio, "target": target,
        "met": ratio is not None and ratio <= target,
    }  # fmt: skip


def summarize(launches: dict, ops: list, sizes: list, cores: int) -> dict:
    cells = []
    libraries, distances, used = {}, {}, {}
    for layout, of in launches.items():
        kept = {name: some for name, some in of.items() if some}
        near = {name: [one for one in some if is_near(one)] for name, some in kept.items()}
        near = {name: some for name, some in near.items() if some}
        all_near = OURS in near and (len(near) > 1 or len(kept) == 1)
        kept, distances[str(layout)] = (near, "near") if all_near else (kept, "not always near")
        libraries |= {name: some[0]["library"] for name, some in kept.items()}
        used[str(layout)] = {name: len(some) for name, some in kept.items()}
        for op in ops:
            for size in sizes:
                us = {name: times_us(some, op, size) for name, some in kept.items()}
                cells.append(make_cell(layout, op, size, us))
    counts = {str(layout): {name: len(some) for name, some in of.items()}
              for layout, of in launches.items()}  # fmt: skip
    every = [one for of in launches.values() for some in of.values() for one in some]
    return {
        "date": datetime.date.today().isoformat(),
        "host": every[0]["host"] if every else {},
        "libraries": libraries,
        "launches": counts,
        "used": used,
        "distance": distances,
        "cores": cores,
        "foreign_share": statistics.median(_foreign(one) for one in every) / cores if every else 0,
        "cells": cells,
    }


def _title(text: str, markdown: bool) -> list:
    return ["", f"{'## ' if markdown else ''}{text}", ""]


def ratio_lines(cells: list, markdown: bool) -> list:
    """One table per layout: operations down, sizes across; ours / best peer, * where it is met."""
    lines = []
    for nodes, per_node in sorted({(c["nodes"], c["per_node"]) for c in cells}):
        mine = [c for c in cells if (c["nodes"], c["per_node"]) == (nodes, per_node)]
        sizes = sorted({c["bytes"] for c in mine})
        rows = []
        for op in dict.fromkeys(c["op"] for c in mine):
            of = {c["bytes"]: c for c in mine if c["op"] == op}
            shown = [number(of[s]["ratio"]) + ("" if of[s]["met"] else " !") for s in sizes]
            rows.append([op, *shown])
        plural = "rank" if per_node == 1 else "ranks"
        lines += _title(f"{nodes} nodes, {per_node} {plural} each: time / best peer's", markdown)
        lines += table(["", *map(human_size, sizes)], rows, markdown)
    return lines


def peer_lines(cells: list, markdown: bool) -> list:
    """How often each peer was the best one."""
    counts = {}
    for cell in cells:
        counts[cell["best_peer"]] = counts.get(cell["best_peer"], 0) + 1
    met = sum(cell["met"] for cell in cells)
    best = ", ".join(f"{name or 'none'} {n}" for name, n in sorted(counts.items(), key=str))
    return ["", f"Targets met in {met} of {len(cells)} cells. Best peer in cells: {best}."]


def p2p_lines(costs: dict, markdown: bool) -> list:
    floor, p2p = costs.get("floor", {}), costs.get("p2p", {})
    if "error" in floor or not p2p:
        return []
    rows = []
    for op, of_socket in (("p2p-latency", "socket"), ("p2p-bandwidth", "stream")):
        for name, of in p2p.items():
            times, least = of.get(op, {}), floor[of_socket]
            rows.append([op, name, *(number(times[s] / least[s] if s in times else None)
                                     for s in least)])  # fmt: skip
    title = "Point to point, time / a plain socket's (best launch; half a round trip, or a stream)"
    sizes = map(human_size, floor["socket"])
    return _title(title, markdown) + table(["", "", *sizes], rows, markdown)


def least_us(costs: dict, cell: dict, cores: int) -> float | None:
    """What the cell cannot take less of, if messages cost what a plain socket's stream costs: the
    processor time of the least transfers between nodes (a broadcast or reduction: one into, or out
    of, every node but one; an allreduce: twice that), shared by the cores without a gap; and not
    less than such a stream itself takes, which is one transfer."""
    floor = costs.get("floor", {})
    work = floor.get("work", {}).get(cell["bytes"])
    if work is None:
        return None
    transfers = (cell["nodes"] - 1) * (2 if cell["op"] == "allreduce" else 1)
    shared = transfers * work / min(cores, cell["nodes"])
    return max(shared, floor.get("stream", {}).get(cell["bytes"], 0))


def least_lines(summary: dict, markdown: bool) -> list:
    if not summary["costs"].get("floor", {}).get("work"):
        return []
    cores = summary["cores"]
    large = [cell for cell in summary["cells"] if cell["bytes"] >= LARGE]
    sizes = sorted({cell["bytes"] for cell in large})
    rows = {}
    for cell in large:
        least = least_us(summary["costs"], cell, cores)
        times = [cell["us"].get(name) for name in (OURS, cell["best_peer"])]
        both = (number(time / least if time and least else None) for time in times)
        rows.setdefault((cell["nodes"], cell["per_node"], cell["op"]), {})[cell["bytes"]] = (
            " / ".join(both)
        )
    title = "The least time: Espalier's / it, and the best peer's / it"
    body = [[f"{nodes} x {per_node}", op, *(of.get(size, "-") for size in sizes)]
            for (nodes, per_node, op), of in rows.items()]  # fmt: skip
    return _title(title, markdown) + table(["", "", *map(human_size, sizes)], body, markdown)


def cost_lines(costs: dict, markdown: bool) -> list:
    def of(kind, name, key):
        return costs.get(kind, {}).get(name, {}).get(key)

    def relative(kind, name, key):
        ours, theirs = of(kind, OURS, key), of(kind, name, key)
        return number(theirs / ours) if ours and theirs is not None else "-"

    rows = []
    for name in costs.get("first", {}):
        first, later = of("first", name, "first_us"), of("first", name, "later_us")
        rows.append([
            name, relative("first", name, "first_us"),
            number(first / later) if first and later else "-",
            relative("memory", name, "kib_per_peer"), relative("startup", name, "seconds"),
        ])  # fmt: skip
    if not rows:
        return []
    header = ["", "first exchange", "first / its later ones", "memory per peer", "start-up"]
    return _title("Set-up, memory, start-up, relative to Espalier's", markdown) + table(
        header, rows, markdown
    )


def render(summary: dict, markdown: bool) -> str:
    host = summary["host"]
    lines = [] if markdown else ["Collectives over TCP between nodes", ""]
    libraries = ", ".join(sorted(set(summary["libraries"].values())))
    lines += [
        f"{libraries}; source {summary['source']}, {summary['date']}; {host.get('cpu_model')}, "
        f"{host.get('cpus')} CPUs, {host.get('kernel')}.",
    ]
    for layout, distance in summary["distance"].items():
        counts = ", ".join(f"{name} {n}" for name, n in summary["used"][layout].items())
        lines += ["", f"{layout}: cores {distance}; launches that count: {counts}."]
    lines += ["", f"Repeated because the cores moved: {summary['repeated']} launches."]
    lines += ratio_lines(summary["cells"], markdown)
    lines += peer_lines(summary["cells"], markdown)
    lines += least_lines(summary, markdown)
    lines += p2p_lines(summary["costs"], markdown)
    lines += cost_lines(summary["costs"], markdown)
    for failure in summary["failures"]:
        lines += ["", f"Failed: {failure}"]
    return "\n".join(lines) + "\n"
