"""Compares Espalier with Open MPI and MPICH on this machine. Started by bench/run.sh.

Launches are interleaved (A B C A B C ...), so that whatever the machine does for a minute it does
to all. Between nodes: nodes/. Standard library only.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import analysis
import backends as known
import launch
import report
import resources
from comparison import Comparison
from plan import BUFFERS, make_plan
from progress import Progress

ROOT = pathlib.Path(__file__).resolve().parents[2]


def numbers(parser: argparse.ArgumentParser, option: str, text: str) -> list:
    try:
        return sorted({int(n) for n in text.split(",") if n})
    except ValueError:
        parser.error(f"{option} {text}: not a list of numbers")


def buffers_of(parser: argparse.ArgumentParser, text: str | None, short: bool) -> list:
    if text is None:
        return list(BUFFERS[:1] if short else BUFFERS)
    ways = text.split(",")
    for way in ways:
        if way not in BUFFERS:
            parser.error(f"--buffers {way}: not one of {', '.join(BUFFERS)}")
    return list(dict.fromkeys(ways))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run.sh", description=__doc__.splitlines()[0],
        epilog="`run.sh nodes --help`: over TCP between emulated nodes; `run.sh all`: both; "
        "`run.sh verbs --help`: RDMA. Without options: every operation, about 50 minutes.",
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--quick", action="store_true",
                        help="under three minutes: two launches, fewer sizes, blocks on two ranks")
    parser.add_argument("--smoke", action="store_true", help="seconds: does it work at all")
    parser.add_argument("--ranks", default="2,4,8,16", help="numbers of ranks, as 2,16")
    parser.add_argument("--only", default=",".join(known.ALL), help="libraries, as espalier,mpich")
    parser.add_argument("--ops", default="", help="these operations alone, as gather,scatter")
    parser.add_argument("--sizes", default="", help="bytes, as 8,65536")
    parser.add_argument("--buffers", help="rewritten: new data before each sample; reused: one for "
                        "all calls, as OSU's; a table of each (rewritten,reused; quick: rewritten)")
    parser.add_argument("--minutes", type=float, help="no new round after this (45; quick: 2.5); "
                        "the first one is always whole")
    parser.add_argument("--no-resources", action="store_true", help="skip start-up and memory")
    parser.add_argument("--publish", action="store_true", help="also write docs/results/")
    args = parser.parse_args()
    args.ranks = numbers(parser, "--ranks", args.ranks)
    args.sizes = numbers(parser, "--sizes", args.sizes)
    args.ops = [op for op in args.ops.split(",") if op]
    args.buffers = buffers_of(parser, args.buffers, args.quick or args.smoke)
    if args.publish and (args.ops or args.sizes or BUFFERS[0] not in args.buffers):
        parser.error("--publish: of the whole comparison, without --ops, --sizes and --buffers")
    if min(args.ranks, default=0) < 2:
        parser.error("--ranks: at least 2")
    args.only = args.only.split(",")
    for name in args.only:
        if name not in known.ALL:
            parser.error(f"--only {name}: not one of {', '.join(known.ALL)}")
    if args.minutes is None:
        args.minutes = 2.5 if args.quick else 45.0
    return args


def measure_floors(program: pathlib.Path, plan, smoke: bool) -> dict:
    sizes = sorted({size for step in plan.steps for size in step.sizes})
    args = ["floors", "--bytes", ",".join(map(str, sizes))] + (["--smoke"] if smoke else [])
    return launch.run_json([program, *args], 120.0)


def source_version() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def summarize(comparison: Comparison, floor_launches: list, found: dict, targets: dict) -> dict:
    launches = comparison.all_launches()
    floors = analysis.Floors(floor_launches)
    libraries = {}
    for of in comparison.results.values():
        for name, some in of.items():
            if some:
                libraries[name] = some[0]["library"]
    return {
        "date": report.today(),
        "source": source_version(),
        "host": floor_launches[0]["host"],
        "libraries": libraries,
        "launches": len(launches),
        "dirty": sum(analysis.is_dirty(one) for one in launches),
        "retried": comparison.retried,
        "failed": len(comparison.failures),
        "failures": comparison.failures,
        "rounds": comparison.rounds_text(),
        "left_out": comparison.left_out(),
        "cells": analysis.compare(
            comparison.results, floors, targets, known.OURS, comparison.cores
        ),
        "floors": floors.all(),
        "resources": found,
    }


def write(summary: dict, comparison: Comparison, build: pathlib.Path, publish: bool) -> None:
    folder = build / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    raw = [
        {"ranks": step.ranks, "buffers": step.buffers, "launches": launches_of}
        for step, launches_of in comparison.results.items()
    ]
    (folder / "comparison.json").write_text(json.dumps({**summary, "raw": raw}, indent=1) + "\n")
    (folder / "comparison.txt").write_text(report.render(summary, known.OURS, markdown=False))
    if publish:
        results = ROOT / "docs" / "results"
        results.mkdir(parents=True, exist_ok=True)
        (results / "comparison.json").write_text(json.dumps(summary, indent=1) + "\n")
        (results / "comparison.md").write_text(report.render(summary, known.OURS, markdown=True))
        subprocess.run([sys.executable, ROOT / "scripts" / "pictures.py"], check=True)


def main() -> int:
    args = parse()
    launch.end_when_told()
    progress = Progress()
    missing = []

    def leave_out(text: str) -> None:
        missing.append(text)
        progress.say(text)

    found = known.find_backends(args.build / "bin", args.only, leave_out)
    if not found:
        progress.say("nothing to measure: build first (./run build)")
        return 1
    cores = len(os.sched_getaffinity(0))
    plan = make_plan(args.ranks, args.quick, args.smoke, args.ops, args.sizes, args.buffers)
    targets = json.loads((ROOT / "bench" / "targets.json").read_text())
    comparison = Comparison(found, plan, cores, args.minutes * 60, progress)
    progress("floors")
    floors = [measure_floors(found[0].program, plan, args.smoke)]
    used = {"startup": [], "memory": [], "idle": []}
    if not args.no_resources:
        used = resources.measure(found, plan, cores, known.OURS, progress)
    comparison.run()
    progress("floors")
    floors.append(measure_floors(found[0].program, plan, args.smoke))
    progress("")
    summary = summarize(comparison, floors, used, targets) | {"missing": missing}
    write(summary, comparison, args.build, args.publish)
    print(report.render(summary, known.OURS, markdown=False), end="")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except launch.LaunchError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
