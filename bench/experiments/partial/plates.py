"""heat: halos by one sender, many senders, and one exchange that threads feed and take from."""

import functools

from grids import table
from launches import Rounds, launch, threads_text

SECTION = "heat"
COLUMNS = ["ranks", "threads", "variant"]
FIGURES = ["seconds", "messages"]
RANKS, THREADS = [2, 4, 8], [1, 2, 4]
INTERIOR_RANKS = 9  # a grid whose one in the middle has four neighbours: messages only
POINTS, STEPS, STEPS_COUNTED = 512, 200, 10
VARIANTS = ["funnel", "multiple", "sync", "partial"]
SEPARATE = "partial, separate"  # its parts are messages of their own


def one(names, options, ranks, threads, steps, build):
    """A launch of variants; {cell: figures}."""
    flags = [word for name in names for word in ("--variant", name.split(",")[0])]
    runs = launch(build, ranks, 1, "heat",
                  [*flags, *options, "--threads", threads, "--steps", steps, "--rows", POINTS,
                   "--columns", POINTS])
    return {(ranks, threads, name): [run["total_s"], run["messages_per_step"]]
            for name, run in zip(names, runs, strict=True)}


def launches(smallest=False):
    cells = [(ranks, threads, STEPS) for ranks in RANKS for threads in THREADS]
    cells += [(INTERIOR_RANKS, threads, STEPS_COUNTED) for threads in THREADS]
    for cell in [(2, 2, STEPS_COUNTED)] if smallest else cells:
        yield functools.partial(one, VARIANTS, [], *cell)
        yield functools.partial(one, [SEPARATE], ["--separate"], *cell)


def rounds():
    return Rounds(COLUMNS, FIGURES)


def messages(figures, ranks, threads):
    """Of the rank that sends most, in a step, by variant."""
    return [f"{figures.median('messages', ranks, threads, name):g}"
            for name in (*VARIANTS, SEPARATE)]


def row(figures, processors, ranks, threads):
    def ratio(name, other):
        return figures.ratio_text("seconds", (ranks, threads, name), (ranks, threads, other))
    return [threads_text(ranks, threads, processors),
            *(figures.time_text("seconds", ranks, threads, name) for name in VARIANTS),
            ratio("sync", "partial"), ratio("partial", "funnel"), ratio("multiple", "partial"),
            ratio(SEPARATE, "partial")]


def tables(figures, processors):
    found = dict.fromkeys(cell[:2] for cell in figures.cells)
    timed = [cell for cell in found if cell[0] != INTERIOR_RANKS]
    counted = [cell for cell in found if cell[0] == INTERIOR_RANKS]
    lines = table(["ranks x threads", *VARIANTS, "sync / partial", "partial / funnel",
                   "multiple / partial", "separate / partial"],
                  [row(figures, processors, *cell) for cell in timed])
    if counted:
        lines += ["", "Messages of the rank in the middle of 3 x 3, per step:", "",
                  *table(["threads", *VARIANTS, SEPARATE],
                         [[threads, *messages(figures, ranks, threads)]
                          for ranks, threads in counted])]
    return lines
