#!/usr/bin/env python3
"""Noise and the three variants: simulated at the published scale, and for real on this machine.

usage: noise.py                                    all: docs/results/noise.md, its plots, noise.json
       noise.py --only simulated                   the figures of the other half stay as they are
       noise.py --only aligned                     of the simulated part, phases together alone
       noise.py --real-only --prefix FOLDER --out FILE
                                                   only measures: FOLDER/bin has esp-run, esp-noise
                                                   and esp-noise-loop; needs no source tree but the
                                                   folder of this script
       noise.py --merge FILE...                    takes such files into noise.json and the report
       noise.py --report                           writes the report again

The simulated part takes some 20 minutes of processor time. The real part takes about 2 numbers of
ranks x 18 cells x rounds x seconds x 3: some 14 minutes by default. --rounds, --seconds and --ranks
say otherwise. What is compared: the same tree, the same segments, calls back to back; only the
variant and the noise differ. See the head of the report.
"""

import argparse
import json
import pathlib

import tables
from measured import measure
from simulated import RESULTS, ROOT, aligned, simulate


def merge(figures, machine):
    """A machine's new figures take the place of its old ones."""
    others = [old for old in figures["real"] if old["host"] != machine["host"]]
    figures["real"] = sorted([*others, machine], key=lambda one: one["host"]["cores"])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", "--build", type=pathlib.Path, default=ROOT / "build",
                        help="has the programs in bin/")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--only", choices=["simulated", "aligned", "real"])
    what.add_argument("--real-only", action="store_true", help="measure and write --out")
    what.add_argument("--merge", type=pathlib.Path, nargs="+", metavar="FILE")
    what.add_argument("--report", action="store_true", help="from the figures that are there")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("noise-real.json"))
    parser.add_argument("--rounds", type=int, default=5, help="real: of all cells")
    parser.add_argument("--seconds", type=float, default=1.5, help="real: of a cell without noise")
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 8], help="real")
    return parser.parse_args()


def main():
    options = arguments()
    if options.real_only:
        options.out.write_text(json.dumps(measure(options), indent=1) + "\n", encoding="utf-8")
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "noise.json"
    figures = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    figures.setdefault("real", [])
    for path in options.merge or []:
        merge(figures, json.loads(path.read_text(encoding="utf-8")))
    fresh = not options.merge and not options.report
    if fresh and options.only == "aligned":
        figures.update(aligned(options.prefix / "bin", figures["simulated"]))
    if fresh and options.only in (None, "simulated"):
        figures.update(simulate(options.prefix / "bin"))
    if fresh and options.only in (None, "real"):
        merge(figures, measure(options))
    file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "noise.md").write_text(tables.report(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
