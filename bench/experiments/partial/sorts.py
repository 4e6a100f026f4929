"""histogram_sort: exchange and merge, all at the end or in groups as blocks land."""

import functools

from grids import K, M, size, table
from launches import Rounds, launch, threads_text

SECTION = "sort"
COLUMNS = ["ranks", "nodes", "bytes", "variant"]
FIGURES = ["seconds", "exchange_s", "merge_s", "overlapped_s"]
SIZES = [256, 1 * K, 4 * K, 16 * K, 64 * K, 256 * K, 1 * M]
RANKS = [2, 4, 8]
OVER_TCP = [(4, 4, bytes_) for bytes_ in (1 * K, 16 * K, 256 * K)]
BYTES_PER_KEY = 8
KEYS_PER_RUN, TURNS_MOST, TURNS_LEAST = 1 << 20, 101, 3

BLOCKING, OFFLOADED, ARRIVAL = "blocking", "offloaded", "partial, order of arrival"
IN_GROUPS = "blocking, groups of 2"


def partial(group):
    return f"partial, {group}"


def layouts(smallest):
    if smallest:
        return [(2, 1, 256), (4, 4, 256)]
    return [(ranks, 1, bytes_) for ranks in RANKS for bytes_ in SIZES] + OVER_TCP


def turns(ranks, bytes_):
    keys = ranks * ranks * bytes_ // BYTES_PER_KEY
    return max(TURNS_LEAST, min(TURNS_MOST, KEYS_PER_RUN // keys | 1))


def one(names, options, layout, build):
    """A launch of variants with options; {cell: figures}."""
    ranks, nodes, bytes_ = layout
    flags = [word for name in names for word in ("--variant", name.split(",")[0])]
    runs = launch(build, ranks, nodes, "histogram_sort",
                  [*flags, *options, "--keys", ranks * ranks * bytes_ // BYTES_PER_KEY,
                   "--exchanges", turns(ranks, bytes_)])
    return {(*layout, name): [run["exchange_and_merge_s"], run["exchange_s"], run["merge_s"],
                              run["overlapped_s"]] for name, run in zip(names, runs, strict=True)}


def launches(smallest=False):
    for layout in layouts(smallest):
        variants = [([BLOCKING, OFFLOADED], []), ([partial(1)], ["--group", 1])]
        for group in (2, 4):
            if group < layout[0]:  # a group of all is no group
                variants.append(([partial(group)], ["--group", group]))
        grouped = ["--group", min(2, layout[0] - 1)]
        if layout[0] > 2:
            variants.append(([IN_GROUPS], [*grouped, "--group-all"]))
        variants.append(([ARRIVAL], [*grouped, "--unordered"]))
        for names, options in variants:
            yield functools.partial(one, names, options, layout)


def rounds():
    return Rounds(COLUMNS, FIGURES)


def row(figures, processors, layout):
    ranks, nodes, bytes_ = layout
    blocking = (*layout, BLOCKING)
    cells = [f"{threads_text(ranks, 1, processors)}{', tcp' if nodes > 1 else ''}", size(bytes_),
             figures.time_text("seconds", *blocking)]
    for name in (OFFLOADED, IN_GROUPS, partial(1), partial(2), partial(4), ARRIVAL):
        cells.append(figures.ratio_text("seconds", blocking, (*layout, name)))
    best = (*layout, partial(2 if ranks > 2 else 1))
    share = figures.median("overlapped_s", *best) / figures.median("merge_s", *best)
    return [*cells, f"{100 * share:.0f} %" if ranks > 2 else ""]


def tables(figures, processors):
    head = ["ranks", "block", "blocking", "offloaded", IN_GROUPS, partial(1), partial(2),
            partial(4), "arrival", "merged before the last"]
    found = list(dict.fromkeys(cell[:3] for cell in figures.cells))
    return table(head, [row(figures, processors, layout) for layout in found])
