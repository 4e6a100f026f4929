"""From launches to ratios, and the page of them.

A launch's number is the median of its samples. Launches count in which the cores were near and
stayed so; where Espalier or all others have none, all launches. Of each library's launches of a
case, and of one way of dealing the nodes out to the cores, the median counts; a cell is the mean
over the ways of dealing.
"""

import datetime
import json
import pathlib
import statistics

import aims
from analysis import distance, is_moved
from launchers import OURS
from least import least_us
from plan import BUFFERS
from report import human_size, left_out_lines, number, table

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


def make_cell(layout, op: str, size: int, us: dict, buffers: str = BUFFERS[0]) -> dict:
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
        "nodes": layout.nodes, "per_node": layout.per_node, "buffers": buffers,
        "op": op, "bytes": size, "us": us,
        "best_peer": best, "ratio": ratio, "target": target,
        "met": ratio is not None and ratio <= target,
    }  # fmt: skip


def summarize(launches: dict, cores: int, costs: dict) -> dict:
    """`launches`: by case and library."""
    cells = []
    libraries, distances, used = {}, {}, {}
    for case, of in launches.items():
        kept = {name: some for name, some in of.items() if some}
        near = {name: [one for one in some if is_near(one)] for name, some in kept.items()}
        near = {name: some for name, some in near.items() if some}
        all_near = OURS in near and (len(near) > 1 or len(kept) == 1)
        kept, distances[str(case)] = (near, "near") if all_near else (kept, "not always near")
        libraries |= {name: some[0]["library"] for name, some in kept.items()}
        used[str(case)] = {name: len(some) for name, some in kept.items()}
        for op, size in case.step.cells():
            us = {name: times_us(some, op, size) for name, some in kept.items()}
            cell = make_cell(case.layout, op, size, us, case.step.buffers)
            cells.append(cell | {"floor_us": least_us(costs, cell, cores)})
    counts = {str(case): {name: len(some) for name, some in of.items()}
              for case, of in launches.items()}  # fmt: skip
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


def ratio_rows(cells: list) -> tuple:
    """(header, rows): operations down, sizes across; time / best peer's, ! above the aim."""
    sizes = sorted({cell["bytes"] for cell in cells})
    rows = []
    for op in dict.fromkeys(cell["op"] for cell in cells):
        of = {cell["bytes"]: cell for cell in cells if cell["op"] == op}
        rows.append([op, *(number(of[s]["ratio"]) + ("" if of[s]["met"] else " !") if s in of
                           else "" for s in sizes)])  # fmt: skip
    return ["", *map(human_size, sizes)], rows


def time_rows(cells: list) -> tuple:
    """(header, rows): one cell a row, us per call of every library."""
    names = list(dict.fromkeys(name for cell in cells for name in cell["us"]))
    rows = []
    for cell in cells:
        time, floor = cell["us"].get(OURS), cell["floor_us"]
        rows.append([
            cell["op"], human_size(cell["bytes"]),
            *(number(cell["us"].get(name)) for name in names),
            cell["best_peer"] or "-", number(cell["ratio"]),
            number(floor), number(time / floor if time and floor else None),
            "" if cell["met"] else "!",
        ])  # fmt: skip
    return ["operation", "size", *names, "best peer", "ratio", "floor", "x floor", ""], rows


def cell_lines(cells: list, left_out: list, markdown: bool) -> list:
    """A table per way of buffers and layout: times, on a page ratios alone."""
    def key(one):
        return BUFFERS.index(one["buffers"]), one["nodes"], one["per_node"]

    lines = []
    for way, nodes, per_node in sorted({key(cell) for cell in cells}):
        mine = [cell for cell in cells if key(cell) == (way, nodes, per_node)]
        title = f"{nodes} nodes, {per_node} {'rank' if per_node == 1 else 'ranks'} each"
        title += ", buffers reused" if way else ""
        title += ": time / best peer's" if markdown else ", us per call"
        lines += _title(title, markdown)
        lines += table(*(ratio_rows(mine) if markdown else time_rows(mine)), markdown)
        lines += ["", f"All: {aims.line(mine, OURS, nodes * per_node, human_size)}"]
        lines += left_out_lines([x for x in left_out if key(x) == (way, nodes, per_node)])
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


def least_lines(summary: dict, markdown: bool) -> list:
    if not summary["costs"].get("floor", {}).get("work"):
        return []
    large = [c for c in summary["cells"] if c["bytes"] >= LARGE and c["floor_us"] is not None]
    sizes = sorted({cell["bytes"] for cell in large})
    rows = {}
    for cell in large:
        times = [cell["us"].get(name) for name in (OURS, cell["best_peer"])]
        both = (number(time / cell["floor_us"] if time else None) for time in times)
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
    lines += [f"Left out: {text}." for text in summary["missing"]]
    header = ["launches that count", "cores", *summary["libraries"]]
    rows = [[case, distance, *(str(summary["used"][case].get(name, "-")) for name in header[2:])]
            for case, distance in summary["distance"].items()]  # fmt: skip
    lines += ["", *table(header, rows, markdown), ""]
    lines += [f"{summary['rounds']}; {summary['repeated']} launches were repeated because the cores"
              " moved."]  # fmt: skip
    lines += cell_lines(summary["cells"], summary["left_out"], markdown)
    lines += peer_lines(summary["cells"], markdown)
    lines += least_lines(summary, markdown)
    lines += p2p_lines(summary["costs"], markdown)
    lines += cost_lines(summary["costs"], markdown)
    for failure in summary["failures"]:
        lines += ["", f"Failed: {failure}"]
    return "\n".join(lines) + "\n"
