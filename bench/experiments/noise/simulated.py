"""The simulated part of the noise experiment: esp-sim and esp-noise-floor on machine models."""

import json
import pathlib
import re
import tempfile

from cells import ALIGNED, NOISES, OPERATIONS, TREE, VARIANTS, run

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
# Of detours that begin together there is one for all in 100 ms: so many calls see several.
CALLS_ALIGNED = 400
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


def aligned(programs):
    """The same with detours that begin together; and what ideal protocols lose then."""
    figures, floor = [], []
    for machine, ranks in MACHINES:
        for operation in OPERATIONS:
            place = ["--machine", machine, "--ranks", ranks, "--op", operation]
            rows = esp_sim(programs, *place, "--repeat", CALLS_ALIGNED, "--noise",
                           ",".join(ALIGNED), "--variant", ",".join(VARIANTS), "--seeds", "1-2")
            figures += [{"machine": machine, "ranks": row["ranks"], "operation": operation,
                         "variant": row["variant"], "noise": row["noise"],
                         "us": [one["makespan_ns"] / 1e3 for one in row["runs"]]} for row in rows]
            text = run(programs / "esp-noise-floor", *place, "--calls", CALLS_ALIGNED, "--noise",
                       ",".join(ALIGNED[1:]), "--seeds", "1,2")
            floor += [{"machine": machine, "operation": operation, **json.loads(line)}
                      for line in text.splitlines()]
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
    return {"simulated": grid(programs), "few": few(programs), "floors": floors(programs),
            "lookahead": lookahead(programs), **aligned(programs)}
