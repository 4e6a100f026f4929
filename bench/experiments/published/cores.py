"""Cores per node: a broadcast of 2 MiB on 32 nodes, with more and more ranks on each."""

import re

from runs import M, cell, machine_text, ms, size, table, times

NODES = 32
SEGMENT = 64 << 10
SHORT, LONG = 2 * M, 4 * M
PER_NODE = [1, 2, 4, 8, 12, 16, 20, 24]
MACHINES = {"stremi": PER_NODE, "stremi-wide": [24, 48, 96, 144, 192, 240],
            "parapluie": PER_NODE, "parapluie-memory": PER_NODE}
UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "GB/s": 1e3, "MB/s": 1.0}  # microseconds, bytes per us


def one(machine, per_node, bytes_):
    return cell(machine, NODES * per_node, "bcast", bytes_, ranks_per_node=per_node,
                algorithm="tree", shape="chain", levels="flat", segment=SEGMENT)


def cells():
    for machine, counts in MACHINES.items():
        for per_node in counts:
            for bytes_ in (SHORT, LONG):
                yield one(machine, per_node, bytes_)


def prices(machine):
    """{"lane memory": {"bandwidth": bytes per us, ...}, ...}"""
    found = {}
    for line in machine_text(machine).splitlines():
        if section := re.match(r"\[(.*)\]", line):
            here = found.setdefault(section[1], {})
        elif value := re.match(r"(\w+) = ([\d.]+) ?(\S*) +#", line):
            here[value[1]] = float(value[2]) * UNITS.get(value[3], 1)
    return found


def forwarding(machine):
    """Microseconds between two segments on a chain of nodes: f = 1, alpha hides in the pipeline."""
    price = prices(machine)
    return max(price["level cluster"]["gap"], SEGMENT / price["lane nic"]["bandwidth"])


def inside(machine, per_node):
    """Microseconds that a node takes for a segment: the slowest reader, or the memory that most
    reads go through. Heads of sockets and NUMA nodes read for their groups."""
    price = prices(machine)
    cores, numas = int(price["level core"]["arity"]), int(price["level numa"]["arity"])
    seats = [i * 4 * cores // per_node for i in range(per_node)]
    units = [seat // cores for seat in seats]
    members = units.count(0)
    near = len({unit for unit in units if unit < numas})
    far = len({unit // numas for unit in units})
    reads = members - 1 + near - 1 + far - 1
    if reads == 0:
        return 0.0
    outermost = "level node" if far > 1 else "level socket" if near > 1 else "level numa"
    level, call = price[outermost], price["cma"]
    pages = -(-SEGMENT // 4096)
    reader = (level["overhead"] + call["call"] + pages * (call["page"] + (reads - 1) *
              call["reader"]) + SEGMENT / level["bandwidth"])
    return max(reader, reads * SEGMENT / price["lane memory"]["bandwidth"])


def pace(figures, machine, per_node):
    """Simulated microseconds between two segments."""
    more = figures.us(one(machine, per_node, LONG)) - figures.us(one(machine, per_node, SHORT))
    return more / ((LONG - SHORT) // SEGMENT)


def crossed(paces, forward):
    """The first number of ranks per node that takes longer than 1.05 times the network."""
    return next((str(count) for count, time in paces if time > 1.05 * forward), "none")


def claims(figures):
    """[what, published, simulated]"""
    said = []
    for machine in ("stremi", "parapluie"):
        one_each, full = (figures.us(one(machine, n, SHORT)) for n in (PER_NODE[0], PER_NODE[-1]))
        said.append(f"{machine}: {times(full / one_each)} times as long with 24 as with 1")
    return [["bcast of 2 MB, 32 nodes, cores per node", "cores up to 24 do not lengthen it; until "
             "a segment takes longer inside a node than between nodes", "; ".join(said)]]


def tables(figures):
    lines = []
    for machine, counts in MACHINES.items():
        forward = forwarding(machine)
        first = figures.us(one(machine, 1, SHORT)) if 1 in counts else figures.us(
            one("stremi", 1, SHORT))
        rows = []
        for per_node in counts:
            us = figures.us(one(machine, per_node, SHORT))
            rows.append([per_node, ms(us), times(us / first),
                         f"{NODES * per_node * SHORT / us / 1e3:.1f} GB/s",
                         f"{inside(machine, per_node):.0f} us", f"{forward:.0f} us",
                         f"{pace(figures, machine, per_node):.0f} us"])
        lines += ["", f"#### {machine} (simulated)", ""]
        lines += table(["ranks per node", size(SHORT), "over one per node", "all ranks together",
                        "predicted inside a node", "predicted between nodes",
                        "simulated, per segment"], rows)
        said = crossed([(n, inside(machine, n)) for n in counts], forward)
        seen = crossed([(n, pace(figures, machine, n)) for n in counts], forward)
        lines += ["", f"Inside exceeds between from {said} ranks per node on, as predicted; "
                      f"simulated: {seen}."]
    return lines
