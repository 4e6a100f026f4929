#!/usr/bin/env python3
"""What partial completion brings, simulated, beside published figures: docs/results/partial.md.

usage: partial.py                    all sections; those that are on file are not run again
       partial.py --only NAME...     of overlap, merge, exchange, halo
       partial.py --most-ranks N     leaves out runs of more ranks (then there is no report of
                                     these sections)
       partial.py --fresh            runs these sections again
       partial.py --report           writes the report again

Takes about half a minute of processor time. --build has bin/esp-sim; --out: where partial.json and
partial.md are, and applications.json of real runs (applications.py), which come into the report.
"""

import pathlib

import applications
import exchanges
import halos
import merges
import overlaps
from grids import Figures, simulate, table
from told import simulation_options

SECTIONS = {module.SECTION: module for module in (overlaps, merges, exchanges, halos)}


def run(program, figures, names, options):
    """The number of sections that were run."""
    count = 0
    for name in names:
        if name in figures.sections and not options.fresh:
            continue
        rows = {}
        for grid in SECTIONS[name].grids():
            rows.update(simulate(program, grid, options.most_ranks))
        figures.put(name, rows)
        count += 1
        print(f"simulated: {name}, {len(rows)} runs", flush=True)
    return count


def is_whole(figures, name):
    ranks = {str(ranks) for grid in SECTIONS[name].grids() for ranks in grid["ranks"]}
    return ranks == {key[0] for key in figures.sections.get(name, {})}


def report(figures):
    """partial.md as text."""
    text = (pathlib.Path(__file__).parent / "report.md").read_text(encoding="utf-8")
    claims = []
    for name, section in SECTIONS.items():
        whole = is_whole(figures, name)
        lines = section.tables(figures) if whole else ["Not run yet."]
        text = text.replace(f"@{name.upper()}@", "\n".join(lines))
        claims += section.claims(figures) if whole else []
    for name in applications.SECTIONS:
        lines = applications.tables(figures.file.parent).get(name, ["Not run yet."])
        text = text.replace(f"@REAL_{name.upper()}@", "\n".join(lines))
    summary = table(["what", "published (measured there)", "simulated"], claims)
    return text.replace("@SUMMARY@", "\n".join(summary) if claims else "Not run yet.")


def main():
    options = simulation_options(__doc__, SECTIONS)
    figures = Figures(options.out / "partial.json")
    if not options.report:
        count = run(options.build / "bin" / "esp-sim", figures, options.only, options)
        print(f"{count} sections were run")
    (options.out / "partial.md").write_text(report(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
