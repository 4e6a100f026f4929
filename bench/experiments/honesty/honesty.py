#!/usr/bin/env python3
"""Is the simulator honest? It is calibrated on this machine, and compared with what this machine
does: docs/results/honesty.md.

usage: honesty.py [--build FOLDER] [--ranks 2 4 8] [--budget-ms 100] [--out FILE]

Measures with esp-bench (floors, then bcast, reduce and allreduce of 8 B to 4 MiB), simulates the
same plans on the machine file that calibrate.py makes of the floors. Half a minute; wants a
machine without other work.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = (pathlib.Path(__file__).parent / ".." / ".." / "..").resolve()
sys.path.insert(0, str(ROOT / "bench" / "experiments"))
import calibrate  # noqa: E402

SIZES = {8: "8 B", 4096: "4 KiB", 65536: "64 KiB", 1 << 20: "1 MiB", 4 << 20: "4 MiB"}
# The plans that the library prefers, named so that both sides run the same.
PLANS = {"bcast": ["--algorithm", "publish"], "reduce": ["--algorithm", "tree", "--shape", "flat"],
         "allreduce": ["--algorithm", "spread"]}
SEGMENT = ["--segment", "64K"]


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def real(programs, ranks, operation, budget_ms):
    """By bytes: microseconds per call, median and least over samples; and the share of time that
    ranks were ready to run and did not."""
    text = output_of(programs / "esp-run", "-n", ranks, programs / "esp-bench", "--op", operation,
                     "--bytes", ",".join(map(str, SIZES)), *PLANS[operation], *SEGMENT,
                     "--budget-ms", budget_ms, "--quiet", "--json", "-")
    return {row["bytes"]: (row["median_us"], row["min_us"], row["run_delay_share"])
            for row in json.loads(text)["rows"] if not row["refusal"]}


def simulated(programs, machine, ranks, operation):
    times = {}
    for size in SIZES:
        text = output_of(programs / "esp-sim", "--machine", machine, "--ranks", ranks, "--op",
                         operation, "--bytes", size, *PLANS[operation], *SEGMENT, "--repeat", 20,
                         "--quiet", "--json", "-")
        times[size] = json.loads(text)["rows"][0]["makespan_ns"]["median"] / 1e3
    return times


def human(microseconds):
    return f"{microseconds:.2f} us" if microseconds < 1e3 else f"{microseconds / 1e3:.2f} ms"


def table(programs, machine, ranks, budget_ms):
    lines = ["| operation | size | real | least | simulated | real / simulated | not running |",
             "|---|---|---|---|---|---|---|"]
    ratios = []
    for operation in PLANS:
        measured = real(programs, ranks, operation, budget_ms)
        predicted = simulated(programs, machine, ranks, operation)
        for size, text in SIZES.items():
            if size not in measured:
                continue
            (us, least, delay), sim_us = measured[size], predicted[size]
            ratios.append((size, us / sim_us))
            lines.append(f"| {operation} | {text} | {human(us)} | {human(least)} | "
                         f"{human(sim_us)} | {us / sim_us:.2f} | {100 * delay:.0f} % |")
    return lines, ratios


def spread(ratios):
    """The geometric mean of ratios and how far they are apart."""
    logs = [math.log(ratio) for ratio in ratios]
    return (f"{math.exp(sum(logs) / len(logs)):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            if logs else "none")


def experiment(options):
    programs = options.build / "bin"
    measurements = calibrate.measure(options.build)
    sections, summary = [], []
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder) / "this.machine"
        for ranks in options.ranks:
            machine.write_text(calibrate.machine_text(measurements, max(ranks, measurements.cpus)))
            lines, ratios = table(programs, machine, ranks, options.budget_ms)
            small = spread([ratio for size, ratio in ratios if size < 65536])
            large = spread([ratio for size, ratio in ratios if size >= 65536])
            summary.append(f"| {ranks} | {ranks / measurements.cpus:g} | {small} | {large} |")
            sections += ["", f"### {ranks} ranks", "", *lines]
            print("\n".join(sections[-len(lines) - 2:]), flush=True)
        machine.write_text(calibrate.machine_text(measurements))
        sections += ["", "## The machine file", "", "```", machine.read_text().strip(), "```"]
    report = (pathlib.Path(__file__).parent / "report.md").read_text(encoding="utf-8")
    host = f"{measurements.cpus} cores ({measurements.host})"
    for mark, text in (("HOST", host), ("SUMMARY", "\n".join(summary)),
                       ("TABLES", "\n".join(sections).strip())):
        report = report.replace(f"@{mark}@", text)
    options.out.write_text(report, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--budget-ms", type=int, default=100, help="sampling time of a row")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/results/honesty.md")
    try:
        experiment(parser.parse_args())
    except (calibrate.Missing, OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"honesty.py: {problem}")


if __name__ == "__main__":
    main()
