#!/usr/bin/env python3
"""Noise and the three variants: simulated at the published scale, and for real on this machine.

usage: noise.py                                    all: docs/results/noise.md, its plots, noise.json
       noise.py --only simulated                   the figures of the other half stay as they are
       noise.py --real-only --prefix FOLDER --out FILE
                                                   only measures: FOLDER/bin has esp-run, esp-noise
                                                   and esp-noise-loop; needs no source tree but the
                                                   folder of this script
       noise.py --merge FILE...                    takes such files into noise.json and the report

The real part takes about 2 numbers of ranks x 18 cells x rounds x seconds x 3: some 14 minutes by
default. --rounds, --seconds and --ranks say otherwise. What is compared: the same tree, the same
segments, calls back to back; only the variant and the noise differ. See the head of the report.
"""

import argparse
import json
import pathlib

from cells import NOISES, OPERATIONS, TREE, VARIANTS, cell, run, slowdown
from measured import measure

ROOT = pathlib.Path(__file__).resolve().parents[3]
RESULTS = ROOT / "docs" / "results"
EVERY = [1024, 256, 32]
# The published slowdowns of ADAPT at 10 % noise.
PUBLISHED_AT_10 = {"bcast": 24, "reduce": 16}
MACHINES = [("cori", 1024), ("stampede2", 1536)]
# Chains within sockets and nodes, and a chain of nodes, as published.
SIMULATED_TREE = [*TREE, "--levels", "chain"]


def simulate(programs, quick):
    figures = []
    for machine, ranks in MACHINES:
        for operation in OPERATIONS:
            plot = RESULTS / f"noise-{machine}-{operation}.svg"
            text = run(programs / "esp-sim", "--machine", machine, "--ranks",
                       ranks, "--op", operation, *SIMULATED_TREE, "--repeat",
                       10 if quick else 20,
                       "--noise", ",".join(NOISES), "--variant", ",".join(VARIANTS), "--seeds",
                       "1-2" if quick else "1-3", "--quiet", "--json", "-", "--svg", plot)
            for row in json.loads(text)["rows"]:
                figures.append({"machine": machine, "ranks": row["ranks"], "operation": operation,
                                "variant": row["variant"], "noise": row["noise"],
                                "us": [one["makespan_ns"] / 1e3 for one in row["runs"]]})
            print(f"simulated: {operation} on {machine}")
    return figures


def simulate_few(programs):
    """The same 10 % on every k-th rank only."""
    text = run(programs / "esp-sim", "--machine", "cori", "--ranks", 1024, *SIMULATED_TREE,
               "--repeat", 40, "--noise", NOISES[2], "--noise-every", ",".join(map(str, EVERY)),
               "--variant", ",".join(VARIANTS), "--seeds", "1-2", "--quiet", "--json", "-")
    return [[row["noise_every"], row["variant"], row["makespan_ns"]["median"] / 1e3]
            for row in json.loads(text)["rows"]]


def few_table(figures):
    lines = ["| noise on | " + " | ".join(VARIANTS) + " |", "|---|" + "---|" * len(VARIANTS)]
    quiet = {variant: cell([figure for figure in figures["simulated"] if figure["machine"] ==
                            "cori"], "bcast", variant, "none")[0] for variant in VARIANTS}
    for every in EVERY:
        times = {variant: us for k, variant, us in figures["few"] if k == str(every)}
        texts = [f"{times[v] / 1e3:.2f} ms, {100 * (times[v] / quiet[v] - 1):.0f} % slower"
                 for v in VARIANTS]
        lines.append(" | ".join([f"| {1024 // every} of 1024 ranks", *texts]) + " |")
    return "\n".join(lines)


def table(figures, operation):
    lines = ["| variant | 0 % | 5 % | 10 % | slower at 5 % | slower at 10 % |",
             "|---|---|---|---|---|---|"]
    for variant in VARIANTS:
        cells = [cell(figures, operation, variant, noise) for noise in NOISES]
        quiet = cells[0][0]
        texts = [f"{median / 1e3:.2f} ms ({low / 1e3:.2f} to {high / 1e3:.2f})"
                 for median, low, high in cells]
        slower = [f"{100 * (median / quiet - 1):.0f} %" for median, _, _ in cells[1:]]
        lines.append(" | ".join(["| " + variant, *texts, *slower]) + " |")
    return lines


def verdict(figures, operation, limit):
    event, waitall, blocking = (slowdown(figures, operation, variant) for variant in VARIANTS)
    order = "as published" if event < waitall < blocking else "not the published order"
    bound = "" if limit is None else (
        f" Published for ADAPT: at most {limit} %; ours is {event:.0f} %.")
    return (f"At 10 %: event {event:.0f} %, waitall {waitall:.0f} %, blocking {blocking:.0f} % "
            f"slower: {order}.{bound}")


def sections(figures, kind, limits):
    lines = []
    jobs = sorted({(figure.get("machine", ""), figure["ranks"]) for figure in figures})
    for machine, ranks in jobs:
        some = [figure for figure in figures
                if (figure.get("machine", ""), figure["ranks"]) == (machine, ranks)]
        for operation in OPERATIONS:
            depth = "###" if machine else "####"
            where = f", {machine}" if machine else ""
            lines += ["", f"{depth} {operation}, {ranks} ranks{where} ({kind})", ""]
            lines += table(some, operation)
            lines += ["", verdict(some, operation, limits.get(operation))]
            if machine:
                lines += ["", f"![{operation} on {machine}](noise-{machine}-{operation}.svg)"]
    return lines


def real_sections(machines):
    lines = []
    for machine in machines:
        host = machine["host"]
        rounds = len(machine["figures"][0]["us"])
        lines += ["", f"### On {host['cores']} cores ({host['model']})", "",
                  f"{rounds} round{'s' if rounds > 1 else ''}; each cell as many calls as take "
                  f"{machine['seconds']:g} s without noise."]
        lines += sections(machine["figures"], "measured", {})
    return lines


def report(figures):
    text = (pathlib.Path(__file__).parent / "report.md").read_text(encoding="utf-8")
    parts = {"SIMULATED": sections(figures["simulated"], "simulated", PUBLISHED_AT_10),
             "REAL": real_sections(figures["real"]), "FEW": [few_table(figures)]}
    for mark, lines in parts.items():
        text = text.replace(f"@{mark}@", "\n".join(lines).strip() or "Not run yet.")
    (RESULTS / "noise.md").write_text(text, encoding="utf-8")


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
    what.add_argument("--only", choices=["simulated", "real"])
    what.add_argument("--real-only", action="store_true", help="measure and write --out")
    what.add_argument("--merge", type=pathlib.Path, nargs="+", metavar="FILE")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("noise-real.json"))
    parser.add_argument("--rounds", type=int, default=5, help="real: of all cells")
    parser.add_argument("--seconds", type=float, default=1.5, help="real: of a cell without noise")
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 8], help="real")
    parser.add_argument("--quick", action="store_true", help="simulated: fewer calls and seeds")
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
    figures.setdefault("simulated", [])
    for path in options.merge or []:
        merge(figures, json.loads(path.read_text(encoding="utf-8")))
    if not options.merge and options.only != "real":
        figures["simulated"] = simulate(options.prefix / "bin", options.quick)
        figures["few"] = simulate_few(options.prefix / "bin")
    if not options.merge and options.only != "simulated":
        merge(figures, measure(options))
    file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    report(figures)


if __name__ == "__main__":
    main()
