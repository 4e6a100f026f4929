#!/usr/bin/env python3
"""Noise and the three variants: simulated at the published scale, and for real on this machine.

usage: noise.py [--build FOLDER] [--only simulated|real] [--quick]

Writes docs/results/noise.md, its plots (noise-*.svg) and all figures (noise.json). With --only the
figures of the other half are taken from noise.json. What is compared: the same tree, the same
segments, calls back to back; only the variant and the noise differ. See the head of the report.
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
RESULTS = ROOT / "docs" / "results"
NOISES = ["none", "uniform:10hz:0ns-10ms", "uniform:10hz:0ns-20ms"]
SHARES = ["0 %", "5 %", "10 %"]
EVERY = [1024, 256, 32]
VARIANTS = ["event", "waitall", "blocking"]
OPERATIONS = ["bcast", "reduce"]
# Machine, ranks, and the published slowdowns at 10 % noise: (ADAPT, the worst of the others).
PUBLISHED_AT_10 = {"bcast": 24, "reduce": 16}
MACHINES = [("cori", 1024), ("stampede2", 1536)]
TREE = ["--bytes", "4M", "--segment", "64K", "--shape", "chain"]
# Chains within sockets and nodes, and a chain of nodes, as published.
SIMULATED_TREE = [*TREE, "--levels", "chain"]


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True,
                          text=True).stdout


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


def measure(programs, quick):
    """Rounds of all cells in turn, so that what else happens here meets all of them alike."""
    figures = {}
    for ranks in (4, 8):
        calls = {}
        for number in range(2 if quick else 5):
            for operation in OPERATIONS:
                for variant in VARIANTS:
                    for noise in NOISES:
                        loop = [programs / "esp-noise-loop", "--op", operation, "--variant",
                                variant, *TREE]
                        if operation not in calls:  # so many that a cell takes some seconds
                            seconds = float(run(programs / "esp-run", "-n", ranks, *loop, "--calls",
                                                20))
                            calls[operation] = max(20, int((0.5 if quick else 3) / seconds))
                        seconds = float(run(
                            programs / "esp-run", "-n", ranks, programs / "esp-noise", "--spec",
                            noise, "--seed", number + 1, "--", *loop, "--calls", calls[operation]))
                        key = (ranks, operation, variant, noise)
                        figures.setdefault(key, []).append(seconds * 1e6)
            print(f"real: {ranks} ranks, round {number + 1}")
    return [{"machine": "this machine", "ranks": ranks, "operation": operation, "variant": variant,
             "noise": noise, "us": times}
            for (ranks, operation, variant, noise), times in figures.items()]


def cell(figures, operation, variant, noise):
    times = next(figure["us"] for figure in figures if (
        figure["operation"], figure["variant"], figure["noise"]) == (operation, variant, noise))
    return statistics.median(times), min(times), max(times)


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


def slowdown(figures, operation, variant):
    quiet, loud = (cell(figures, operation, variant, NOISES[i])[0] for i in (0, 2))
    return 100 * (loud / quiet - 1)


def verdict(figures, operation, limit):
    event, waitall, blocking = (slowdown(figures, operation, variant) for variant in VARIANTS)
    order = "as published" if event < waitall < blocking else "not the published order"
    bound = "" if limit is None else (
        f" Published for ADAPT: at most {limit} %; ours is {event:.0f} %.")
    return (f"At 10 %: event {event:.0f} %, waitall {waitall:.0f} %, blocking {blocking:.0f} % "
            f"slower: {order}.{bound}")


def sections(figures, kind):
    lines = []
    jobs = sorted({(figure["machine"], figure["ranks"]) for figure in figures})
    for machine, ranks in jobs:
        some = [figure for figure in figures
                if (figure["machine"], figure["ranks"]) == (machine, ranks)]
        for operation in OPERATIONS:
            lines += ["", f"### {operation}, {ranks} ranks, {machine} ({kind})", ""]
            lines += table(some, operation)
            lines += ["", verdict(some, operation,
                                  PUBLISHED_AT_10[operation] if kind == "simulated" else None)]
            if kind == "simulated":
                lines += ["", f"![{operation} on {machine}](noise-{machine}-{operation}.svg)"]
    return lines


def report(figures):
    text = (pathlib.Path(__file__).parent / "report.md").read_text(encoding="utf-8")
    for mark, kind in (("simulated", "simulated"), ("real", "measured")):
        part = "\n".join(sections(figures.get(mark, []), kind)).strip() or "Not run yet."
        text = text.replace(f"@{mark.upper()}@", part)
    text = text.replace("@FEW@", few_table(figures))
    text = text.replace("@HOST@", figures.get("host", "a machine"))
    (RESULTS / "noise.md").write_text(text, encoding="utf-8")


def host():
    cpus = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.split(":")[1].strip() for line in cpus.splitlines()
                  if line.startswith("model name")), platform.machine())
    return f"{cpus.count('processor' + chr(9))} processors ({model})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", choices=["simulated", "real"])
    parser.add_argument("--quick", action="store_true", help="fewer calls, rounds and seeds")
    options = parser.parse_args()
    programs = options.build / "bin"
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "noise.json"
    figures = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if options.only != "real":
        figures["simulated"] = simulate(programs, options.quick)
        figures["few"] = simulate_few(programs)
    if options.only != "simulated":
        figures["real"] = measure(programs, options.quick)
        figures["host"] = host()
    file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    report(figures)


if __name__ == "__main__":
    main()
