#!/usr/bin/env python3
"""Calls of several threads and the library's thread: every measure of esp-threads on a small set of
cells, its latency over Open MPI and MPICH beside it where they are, and tables of it.

usage: threads.py [--smoke] [--publish]     about 3 minutes
       threads.py --json now.json --before then.json     the medians of then in brackets

--publish writes docs/results/threads.md. Needs a build with -D ESPALIER_BENCH=ON.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = (pathlib.Path(__file__).parent / ".." / "..").resolve()
sys.path.insert(0, str(ROOT / "bench" / "driver"))

import launch  # noqa: E402
import tables  # noqa: E402

RESULTS = ROOT / "docs" / "results" / "threads.md"
LIMIT_S, PEER_LIMIT_S = 300, 60  # of one launch
MEASURES = ["latency", "initiation", "wake", "bandwidth", "overlap"]

# What is measured, by options of esp-threads.
LATENCY = ["--bytes", "0,16,1K,8K,32K", "--threads", "1,2,4,8", "--iterations", "2000"]
CELLS = {
    "latency": [*LATENCY, "--limit-s", "1"],
    "initiation": ["--bytes", "1,1K,64K,1M,4M", "--iterations", "500"],
    "wake": ["--iterations", "100"],
    "bandwidth": ["--bytes", "1,1K,64K,1M", "--windows", "2,16,128", "--iterations", "100"],
    "overlap": ["--bytes", "4K,64K,1M,4M", "--iterations", "100"],
}
# Those that spin take a time slice for each message where threads outnumber processors.
PEERS = ["--bytes", "0,16,1K,32K", "--threads", "1,2,4", "--iterations", "2000", "--limit-s", "0.2"]
SMOKE = {
    "latency": ["--bytes", "16", "--threads", "1,2", "--iterations", "3"],
    "initiation": ["--bytes", "1,1K", "--iterations", "3"],
    "wake": ["--iterations", "3", "--idle-ms", "10", "--sleep-ms", "1"],
    "bandwidth": ["--bytes", "1", "--windows", "2", "--iterations", "3"],
    "overlap": ["--bytes", "1K", "--iterations", "3"],
}


def arguments():
    parser = argparse.ArgumentParser(prog="bench/threads/threads.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="has bin/esp-threads and bin/esp-run")
    parser.add_argument("--only", type=lambda text: text.split(","), default=MEASURES,
                        help="of " + ",".join(MEASURES))
    parser.add_argument("--rounds", type=int, default=1,
                        help="launches of each kind, in turn; a figure is their median")
    parser.add_argument("--no-peers", action="store_true", help="Espalier alone")
    parser.add_argument("--smoke", action="store_true", help="does it work? few iterations")
    parser.add_argument("--json", type=pathlib.Path, help="keeps all rows")
    parser.add_argument("--before", type=pathlib.Path, help="the --json of another version")
    parser.add_argument("--publish", action="store_true", help=f"writes {RESULTS.name}")
    settings = parser.parse_args()
    if settings.rounds < 1:
        parser.error("--rounds: at least 1")
    unknown = [name for name in settings.only if name not in MEASURES]
    if unknown:
        parser.error(f"--only: what is '{unknown[0]}'? There are {', '.join(MEASURES)}")
    for program in ("esp-run", "esp-threads"):
        if not (settings.build / "bin" / program).exists():
            parser.error(f"--build: no bin/{program} in {settings.build}")
    return settings


def launched(command, limit_s=LIMIT_S):
    """What a launch writes. None, and a complaint: it failed."""
    try:
        return launch.run_json(command, limit_s)
    except launch.LaunchError as failure:
        print(f"left out, {failure}: {' '.join(map(str, command))}", file=sys.stderr)
        return None


def peers(build):
    """(name, launcher and program) of each MPI that is there."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    # Threads need more than the one core that a rank is bound to else.
    open_mpi = ["mpirun.openmpi", *root, "--bind-to", "none", "--oversubscribe", "--mca",
                "mpi_yield_when_idle", "1", "-n", "2"]
    for name, launcher in (("openmpi", open_mpi), ("mpich", ["mpirun.mpich", "-n", "2"])):
        program = build / "bin" / f"esp-threads-{name}"
        if program.exists() and shutil.which(launcher[0]) is not None:
            yield name, [*launcher, program]


def one_round(settings):
    """(name of a launch, what it wrote) of all launches, in their order."""
    sets = SMOKE if settings.smoke else CELLS
    run = [settings.build / "bin" / "esp-run", "--timeout", LIMIT_S, "-n"]
    program = settings.build / "bin" / "esp-threads"
    for name in settings.only:
        yield name, launched([*run, 2, program, name, *sets[name]])
        if name == "bandwidth":
            yield "bandwidth of two pairs", launched([*run, 4, program, name, *sets[name]])
        if name == "overlap":
            yield "overlap of one rank that computes", launched(
                [*run, 2, program, name, "--computing", 1, *sets[name]])
        if name == "latency" and not settings.no_peers:
            for peer, command in peers(settings.build):
                for way in ("single", "multiple"):
                    options = sets[name] if settings.smoke else PEERS
                    yield f"{name} {peer} {way}", launched(
                        [*command, name, "--ways", way, *options], PEER_LIMIT_S)


def measure(settings):
    """{name of a launch: the medians of what it wrote in all rounds}"""
    found = {}
    for _ in range(settings.rounds):
        for name, result in one_round(settings):
            if result is not None:
                found.setdefault(name, []).append(result)
    return {name: tables.median_of(results) for name, results in found.items()}


def origin():
    source = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], check=False,
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return {"source": source.strip() or "unknown", "date": datetime.date.today().isoformat()}


def main():
    settings = arguments()
    launch.end_when_told()
    found = {"origin": {**origin(), "rounds": settings.rounds}, "launches": measure(settings)}
    before = None
    if settings.before is not None:
        before = json.loads(settings.before.read_text(encoding="utf-8"))
    if settings.json is not None:
        settings.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = tables.markdown(found, before)
    if settings.publish:
        RESULTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    wanted = set(settings.only) - set(found["launches"])
    return 1 if wanted else 0


if __name__ == "__main__":
    sys.exit(main())
