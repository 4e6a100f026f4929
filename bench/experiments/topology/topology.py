#!/usr/bin/env python3
"""Event against waitall on the same multi-level tree, simulated: docs/results/topology.md.

usage: topology.py [--build FOLDER] [--report]

--report writes the report again from docs/results/topology.json. About 5 minutes of processor time.
"""

import argparse
import json
import pathlib
import subprocess

ROOT = (pathlib.Path(__file__).parent / ".." / ".." / "..").resolve()
RESULTS = ROOT / "docs" / "results"
MACHINES = [("cori", 1024), ("stampede2", 1536), ("supermuc-ng", 1536)]
OPERATIONS = ["bcast", "reduce"]
VARIANTS = ["event", "waitall"]
TREE = ["--segment", "64K", "--shape", "chain", "--levels", "chain"]
SIZES = {"262144": "256 KiB", "1048576": "1 MiB", "4194304": "4 MiB", "16777216": "16 MiB"}
# What a quiet machine still has: 2.5 % in short detours. And 2.5 % in long ones, as published.
NOISES = {"none": "no noise", "fixed:1000hz:25us": "2.5 %: 1000 Hz, 25 us",
          "fixed:10hz:2500us": "2.5 %: 10 Hz, 2.5 ms"}
CALLS = {"none": 5, "fixed:1000hz:25us": 5, "fixed:10hz:2500us": 40}


def simulate(program):
    """[machine, ranks, operation, bytes, noise, variant, microseconds per call]"""
    figures = []
    for machine, ranks in MACHINES:
        for noise, calls in CALLS.items():
            sizes = "4M" if calls > 5 else "256K,1M,4M,16M"
            text = subprocess.run(
                [program, "--machine", machine, "--ranks", str(ranks), "--op",
                 ",".join(OPERATIONS), "--bytes", sizes, *TREE, "--variant", ",".join(VARIANTS),
                 "--noise", noise, "--repeat", str(calls), "--quiet", "--json", "-"],
                check=True, stdout=subprocess.PIPE, text=True).stdout
            figures += [[machine, ranks, row["operation"], row["bytes"], noise, row["variant"],
                         row["makespan_ns"]["median"] / 1e3] for row in json.loads(text)["rows"]]
            print(f"{machine}, {noise}", flush=True)
    return figures


def line(times, label):
    event, waitall = times["event"], times["waitall"]
    return (f"| {label} | {event / 1e3:.3f} ms | {waitall / 1e3:.3f} ms | "
            f"{100 * (1 - event / waitall):.0f} % |")


def tables(figures):
    lines = []
    for machine, ranks in MACHINES:
        for operation in OPERATIONS:
            lines += ["", f"### {operation}, {ranks} ranks, {machine} (simulated)", "",
                      "| message, noise | event | waitall | event takes less |",
                      "|---|---|---|---|"]
            for noise, noise_text in NOISES.items():
                for size, size_text in SIZES.items():
                    times = {row[5]: row[6] for row in figures if row[:3] == [
                        machine, ranks, operation] and str(row[3]) == size and row[4] == noise}
                    if times:
                        lines.append(line(times, f"{size_text}, {noise_text}"))
    return lines


def verdict(figures):
    """Of 4 MiB: where the published 20 % are reached."""
    texts = []
    for noise, noise_text in NOISES.items():
        shares = []
        for machine, _ in MACHINES:
            for operation in OPERATIONS:
                times = {row[5]: row[6] for row in figures
                         if row[0] == machine and row[2] == operation and row[4] == noise and
                         str(row[3]) == "4194304"}
                shares.append(100 * (1 - times["event"] / times["waitall"]))
        reached = sum(share >= 20 for share in shares)
        texts.append(f"- {noise_text}: {min(shares):.0f} to {max(shares):.0f} % less; at least "
                     f"20 % in {reached} of {len(shares)} cases.")
    return texts


def report(figures):
    """topology.md as text."""
    text = (pathlib.Path(__file__).parent / "report.md").read_text(encoding="utf-8")
    text = text.replace("@VERDICT@", "\n".join(verdict(figures)))
    return text.replace("@TABLES@", "\n".join(tables(figures)).strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--report", action="store_true", help="from the figures that are there")
    options = parser.parse_args()
    file = RESULTS / "topology.json"
    if options.report:
        figures = json.loads(file.read_text(encoding="utf-8"))
    else:
        figures = simulate(options.build / "bin" / "esp-sim")
        file.write_text("[\n" + ",\n".join(map(json.dumps, figures)) + "\n]\n", encoding="utf-8")
    (RESULTS / "topology.md").write_text(report(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
