#!/usr/bin/env python3
"""Published experiments at their scale, simulated, beside their figures: docs/results/published.md.

usage: published.py                    all sections; cells that are on file are not run again
       published.py --only NAME...     of placement, cores, segments, clusters, asp, alltoall
       published.py --most-ranks N     leaves out cells of more ranks (then there is no report of
                                       their sections)
       published.py --fresh            forgets the cells of these sections first
       published.py --report           writes the report again

Takes about 6 minutes of processor time. --build has bin/esp-sim; --out: where published.json and
published.md are.
"""

import pathlib

import alltoall
import asp
import clusters
import cores
import placement
import segments
from runs import Figures, simulate, table
from told import simulation_options

SECTIONS = {"placement": placement, "cores": cores, "segments": segments, "clusters": clusters,
            "asp": asp, "alltoall": alltoall}
RANKS = 1  # of a cell's columns


def run(program, figures, names, options):
    """The number of cells that were run. Forgets those that no section has any more."""
    known = {one for section in SECTIONS.values() for one in section.cells()}
    figures.times = {one: us for one, us in figures.times.items() if one in known}
    count = 0
    for name in names:
        wanted = dict.fromkeys(SECTIONS[name].cells())
        if options.fresh:
            figures.times = {one: us for one, us in figures.times.items() if one not in wanted}
        for one in wanted:
            if one not in figures.times and one[RANKS] <= options.most_ranks:
                figures.add(one, simulate(program, one))
                count += 1
        print(f"simulated: {name}", flush=True)
    return count


def report(figures):
    """published.md as text."""
    text = (pathlib.Path(__file__).parent / "report.md").read_text(encoding="utf-8")
    claims = []
    for name, section in SECTIONS.items():
        is_there = all(one in figures.times for one in section.cells())
        lines = section.tables(figures) if is_there else ["Not run yet."]
        text = text.replace(f"@{name.upper()}@", "\n".join(lines).strip())
        claims += section.claims(figures) if is_there else []
    summary = table(["what", "published (measured there)", "simulated"], claims)
    text = text.replace("@SUMMARY@", "\n".join(summary) if claims else "Not run yet.")
    return text


def main():
    options = simulation_options(__doc__, SECTIONS)
    figures = Figures(options.out / "published.json")
    if not options.report:
        count = run(options.build / "bin" / "esp-sim", figures, options.only, options)
        print(f"{count} cells were run")
    (options.out / "published.md").write_text(report(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
