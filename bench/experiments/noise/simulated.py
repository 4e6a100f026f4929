"""The simulated part of the noise experiment: esp-sim and esp-noise-floor on machine models."""

import itertools
import json
import pathlib
import re
import tempfile

from cells import ALIGNED, NOISES, OPERATIONS, TREE, VARIANTS, cell, run

ROOT = (pathlib.Path(__file__).parent / ".." / ".." / "..").resolve()
RESULTS = ROOT / "docs" / "results"
MACHINES = [("cori", 1024), ("stampede2", 1536)]
# Chains within sockets and nodes, and a chain of nodes, as published.
SIMULATED_TREE = [*TREE, "--levels", "chain"]
# Noise on every k-th of 1024 ranks: one rank, four, the first of each node, all.
EVERY = [1024, 256, 32, 1]
# Windows N and M; segments of a call that may come before they are expected.
LOOKAHEAD = [(4, 8, 16), (16, 32, 16), (64, 64, 16), (64, 64, 64)]
CALLS = 40
# Detours that begin together: one for all in 100 ms. Calls that take so many periods less
# as many of the longest detours (ms) meet as many detours, where none lies at an edge of the run.
PERIODS = 1
PERIOD_MS, LONGEST_MS = 100, dict(zip(ALIGNED, [20, 10, 20]))
SEEDS_ALIGNED = "1"
CALLS_LOOKAHEAD = [100, 400]


def esp_sim(programs, *arguments):
    """The rows of esp-sim's JSON."""
    text = run(programs / "esp-sim", *SIMULATED_TREE, *arguments, "--quiet", "--json", "-")
    return json.loads(text)["rows"]


def grid(programs):
    """All variants, operations, machines, with noise on every rank; and the plots."""
    figures = []
    for machine, ranks in MACHINES:
        for operation in OPERATIONS:
            rows = esp_sim(programs, "--machine", machine, "--ranks", ranks, "--op", operation,
                           "--repeat", CALLS, "--noise", ",".join(NOISES), "--variant",
                           ",".join(VARIANTS), "--seeds", "1-2", "--svg",
                           RESULTS / f"noise-{machine}-{operation}.svg")
            figures += [{"machine": machine, "ranks": row["ranks"], "operation": operation,
                         "variant": row["variant"], "noise": row["noise"],
                         "us": [one["makespan_ns"] / 1e3 for one in row["runs"]]} for row in rows]
            print(f"simulated: {operation} on {machine}", flush=True)
    return figures


def calls_aligned(figures, machine, operation, variant, noise):
    """So many calls fill PERIODS, by the time of a call without noise."""
    some = [one for one in figures if one["machine"] == machine]
    quiet_ms = cell(some, operation, variant, "none")[0] / 1e3
    return round(PERIODS * (PERIOD_MS - LONGEST_MS[noise]) / quiet_ms)


def aligned_cell(programs, quiet, machine, ranks, operation, variant, noise, seeds=SEEDS_ALIGNED):
    """One cell of detours that begin together; `quiet`: the figures of grid()."""
    calls = calls_aligned(quiet, machine, operation, variant, noise)
    row, = esp_sim(programs, "--machine", machine, "--ranks", ranks, "--op", operation, "--repeat",
                   calls, "--noise", noise, "--variant", variant, "--seeds",
                   "1" if noise == "none" else seeds)
    return {"machine": machine, "ranks": ranks, "operation": operation, "variant": variant,
            "noise": noise, "calls": calls, "us": [one["makespan_ns"] / 1e3 for one in row["runs"]]}


def aligned_floors(programs, quiet, machine, ranks, operation, noise):
    """What ideal protocols lose then."""
    text = run(programs / "esp-noise-floor", "--machine", machine, "--ranks", ranks, "--op",
               operation, "--calls", calls_aligned(quiet, machine, operation, "event", noise),
               "--noise", noise, "--seeds", SEEDS_ALIGNED.replace("-", ","))
    return [{"machine": machine, "operation": operation, **json.loads(line)}
            for line in text.splitlines()]


def aligned(programs, quiet):
    """All variants, operations, machines, with detours that begin together."""
    figures, floor = [], []
    for (machine, ranks), operation in itertools.product(MACHINES, OPERATIONS):
        place = (programs, quiet, machine, ranks, operation)
        figures += [aligned_cell(*place, variant, noise)
                    for variant, noise in itertools.product(VARIANTS, ALIGNED)]
        for noise in ALIGNED[1:]:
            floor += aligned_floors(*place, noise)
        print(f"simulated: {operation} on {machine}, phases together", flush=True)
    return {"aligned": figures, "aligned_floors": floor}


def few(programs):
    """The greater noise on some ranks only."""
    rows = esp_sim(programs, "--machine", "cori", "--ranks", 1024, "--repeat", CALLS, "--noise",
                   NOISES[2], "--noise-every", ",".join(map(str, EVERY)), "--variant",
                   ",".join(VARIANTS), "--seeds", "1-2")
    return [{"every": 1 if row["noise_every"] == "all" else int(row["noise_every"]),
             "variant": row["variant"], "us": row["makespan_ns"]["median"] / 1e3} for row in rows]


def floors(programs):
    """What ideal protocols lose under the same detours: floor.cpp defines them."""
    figures = []
    for machine, ranks in MACHINES:
        for operation in OPERATIONS:
            text = run(programs / "esp-noise-floor", "--machine", machine, "--ranks", ranks, "--op",
                       operation, "--calls", CALLS, "--noise", ",".join(NOISES[1:]),
                       "--noise-every", ",".join(map(str, EVERY)), "--seeds", "1,2")
            figures += [{"machine": machine, "operation": operation, **json.loads(line)}
                        for line in text.splitlines()]
    return figures


def copying(folder):
    """Cori as if segments were copied in and out of shared memory, instead of pulled: then a
    sender does not wait until its receiver has read."""
    text = (ROOT / "net" / "sim" / "machines" / "cori.machine").read_text(encoding="utf-8")
    text = re.sub(r"carrier = pull", "carrier = copy", text)
    path = pathlib.Path(folder) / "copying.machine"
    path.write_text(re.sub(r"(?m)^pull_from.*\n", "", text), encoding="utf-8")
    return path


def lookahead(programs):
    """How far neighbours may be apart, and what that hides."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for carrier, machine in (("pull", "cori"), ("copy", copying(folder))):
            for send, recv, eager in LOOKAHEAD:
                for calls in CALLS_LOOKAHEAD if eager > 16 else CALLS_LOOKAHEAD[:1]:
                    rows = esp_sim(programs, "--machine", machine, "--ranks", 1024, "--window-send",
                                   send, "--window-recv", recv, "--eager", eager, "--repeat", calls,
                                   "--noise", f"{NOISES[0]},{NOISES[2]}")
                    figures.append({"carrier": carrier, "windows": [send, recv], "eager": eager,
                                    "calls": calls, "us": [row["makespan_ns"]["median"] / 1e3
                                                           for row in rows]})
            print(f"simulated: lookahead, {carrier}", flush=True)
        for calls in CALLS_LOOKAHEAD:
            figures.append({"floor": json.loads(run(
                programs / "esp-noise-floor", "--calls", calls, "--noise", NOISES[2]))})
    return figures


def simulate(programs):
    """All figures, by the name under which noise.json has them."""
    figures = grid(programs)
    return {"simulated": figures, "few": few(programs), "floors": floors(programs),
            "lookahead": lookahead(programs), **aligned(programs, figures)}
