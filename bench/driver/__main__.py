"""Compares Espalier with Open MPI and MPICH on this machine. Started by bench/run.sh.

Launches are interleaved (A B C A B C ...), so that whatever the machine does for a minute it does
to all. Standard library only.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import analysis
import backends as known
import launch
import report
import resources
from plan import make_plan

# A library whose calls take milliseconds (spinning ranks without a core) needs no third launch.
SLOW_LAUNCHES = 2

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Progress:
    """One line, rewritten, on a terminal; nothing elsewhere but what say() says."""

    def __init__(self):
        self._start = time.monotonic()
        self._tty = sys.stderr.isatty()

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def __call__(self, text: str) -> None:
        if self._tty:
            minutes, seconds = divmod(int(self.seconds()), 60)
            print(f"\r\x1b[K[{minutes}:{seconds:02}] {text}", end="", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        print(("\r\x1b[K" if self._tty else "") + text, file=sys.stderr, flush=True)


def numbers(parser: argparse.ArgumentParser, option: str, text: str) -> list:
    try:
        return sorted({int(n) for n in text.split(",") if n})
    except ValueError:
        parser.error(f"{option} {text}: not a list of numbers")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--quick", action="store_true", help="under three minutes, two launches")
    parser.add_argument("--smoke", action="store_true", help="seconds: does it work at all")
    parser.add_argument("--ranks", default="2,4,8,16", help="numbers of ranks, as 2,16")
    parser.add_argument("--only", default=",".join(known.ALL), help="libraries, as espalier,mpich")
    parser.add_argument("--ops", default="", help="these operations alone, as gather,scatter")
    parser.add_argument("--sizes", default="", help="bytes, as 8,65536")
    parser.add_argument("--reused", action="store_true",
                        help="a second table: buffers as OSU's, one for all calls, never rewritten")
    parser.add_argument("--minutes", type=float, help="no new round after this (11; quick: 2.5)")
    parser.add_argument("--no-resources", action="store_true", help="skip start-up and memory")
    parser.add_argument("--publish", action="store_true", help="also write docs/results/")
    args = parser.parse_args()
    args.ranks = numbers(parser, "--ranks", args.ranks)
    args.sizes = numbers(parser, "--sizes", args.sizes)
    args.ops = [op for op in args.ops.split(",") if op]
    if args.publish and (args.ops or args.sizes or args.reused):
        parser.error("--publish: of the whole comparison, without --ops, --sizes and --reused")
    if min(args.ranks, default=0) < 2:
        parser.error("--ranks: at least 2")
    args.only = args.only.split(",")
    for name in args.only:
        if name not in known.ALL:
            parser.error(f"--only {name}: not one of {', '.join(known.ALL)}")
    if args.minutes is None:
        args.minutes = 2.5 if args.quick else 11.0
    return args


class Comparison:
    """Runs the plan and keeps every launch's JSON."""

    def __init__(self, found: list, plan, cores: int, deadline_s: float, progress: Progress):
        self.backends, self.plan, self.cores = found, plan, cores
        self.deadline_s, self.progress = deadline_s, progress
        self.results = {
            step: {b.name: [] for b in found if step.ranks > cores or not b.only_crowded}
            for step in plan.steps
        }
        self.failures = []
        self.retried = 0
        self._broken = set()  # (step, library) that failed once: not tried again
        self._seconds = {}  # (step, library): of its slowest launch

    def run(self) -> None:
        for number in range(self.plan.rounds):
            for step in self.plan.steps:
                # The first round is always whole, so that every cell has a number.
                if number > 0 and self.progress.seconds() > self.deadline_s:
                    self.progress.say(f"time is up after {number} of {self.plan.rounds} rounds")
                    return
                for backend in self.backends:
                    self._launch(backend, step, f"round {number + 1} of {self.plan.rounds}")
        self._retry_dirty()

    def _launch(self, backend, step, label: str) -> None:
        kept = self.results[step].get(backend.name)
        key = (step, backend.name)
        if kept is None or key in self._broken:
            return
        if len(kept) >= SLOW_LAUNCHES and self._seconds[key] > step.slow_s():
            return
        self.progress(f"{label}: {step.ranks} ranks, {backend.name}")
        command = backend.command(step.ranks, self.cores, str(backend.program), step.args())
        start = time.monotonic()
        try:
            kept.append(launch.run_json(command, step.limit_s()))
            self._seconds[key] = max(self._seconds.get(key, 0), time.monotonic() - start)
        except launch.LaunchError as error:
            self._broken.add(key)
            self.failures.append(f"{backend.name}, {step.ranks} ranks: {error}")
            self.progress.say(f"failed: {self.failures[-1]}")

    def _retry_dirty(self) -> None:
        for number in range(self.plan.retries):
            for step, launches_of in self.results.items():
                for backend in self.backends:
                    launches = launches_of.get(backend.name, [])
                    clean = sum(not analysis.is_dirty(one) for one in launches)
                    if not launches or clean >= self.plan.rounds:
                        continue
                    if self.progress.seconds() > self.deadline_s:
                        return
                    self.retried += 1
                    self._launch(backend, step, f"retry {number + 1}")

    def all_launches(self) -> list:
        return [x for of in self.results.values() for launches in of.values() for x in launches]


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
    progress = Progress()
    found = known.find_backends(args.build / "bin", args.only, progress.say)
    if not found:
        progress.say("nothing to measure: build first (./run build)")
        return 1
    cores = len(os.sched_getaffinity(0))
    plan = make_plan(args.ranks, args.quick, args.smoke, args.ops, args.sizes, args.reused)
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
    summary = summarize(comparison, floors, used, targets)
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
