"""Compares Espalier with Open MPI and MPICH over TCP between emulated nodes: bench/run.sh nodes.

Needs root (network namespaces) and ip(8). Launches are interleaved (A B C A B C ...). Standard
library only.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "driver"))

import analysis  # noqa: E402
import costs  # noqa: E402
import launch  # noqa: E402
import launchers  # noqa: E402
import network  # noqa: E402
import table  # noqa: E402
from launchers import Layout  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
OPS = ("bcast", "reduce", "allreduce")
SIZES = (8, KIB, 4 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)
LAYOUTS = (Layout(2, 1), Layout(2, 2), Layout(4, 1), Layout(4, 2))
SKIPPED = 77  # as the tests: it cannot be done here
# MPICH spins: with more ranks than cores one call takes tens of milliseconds. Two launches will do.
SLOW_S, SLOW_LAUNCHES = 15.0, 2
LIMIT_S, FAILURES_MAX = 60.0, 2
NEAR_WAIT_S, MOVED_LAUNCHES = 20.0, 3  # until the cores are near; tries until they have stayed so


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.sh nodes", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=12, help="launches per library and layout")
    parser.add_argument("--minutes", type=float, default=20.0, help="no new round after this")
    parser.add_argument("--only", default=",".join(launchers.ALL), help="as espalier,mpich")
    parser.add_argument("--layouts", default="2x1,2x2,4x1,4x2", help="nodes x ranks per node")
    parser.add_argument("--ops", default=",".join(OPS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes")
    parser.add_argument("--budget-ms", type=float, default=40.0, help="per row of a launch")
    parser.add_argument("--no-costs", action="store_true", help="skip set-up, memory, start-up")
    parser.add_argument("--smoke", action="store_true", help="does it work at all; no results")
    parser.add_argument("--publish", action="store_true", help="write docs/results/nodes_tcp.*")
    args = parser.parse_args()
    args.only = args.only.split(",")
    args.ops = args.ops.split(",")
    args.sizes = [int(size) for size in args.sizes.split(",")]
    args.layouts = [Layout(*map(int, text.split("x"))) for text in args.layouts.split(",")]
    if args.smoke:
        args.rounds, args.sizes, args.budget_ms = 1, [8, 64 * KIB], 2.0
    return args


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Comparison:
    """Keeps every launch's JSON, per layout and library."""

    def __init__(self, args, libraries: list, nodes: network.Nodes):
        self.args, self.libraries, self.nodes = args, libraries, nodes
        self.cores = len(os.sched_getaffinity(0))
        self.launches = {
            layout: {library.name: [] for library in libraries if library.suits(layout)}
            for layout in args.layouts
        }
        self.failures, self.repeated = [], 0
        self._seconds, self._failed = {}, {}  # of the slowest launch; how many did

    def run(self) -> None:
        begin = time.monotonic()
        for number in range(self.args.rounds):
            if number > 0 and time.monotonic() - begin > self.args.minutes * 60:
                say(f"time is up after {number} of {self.args.rounds} rounds")
                return
            for layout in self.args.layouts:
                for library in self.libraries:
                    if library.suits(layout):
                        self._launch(layout, library, number)

    def _line_ns(self) -> float:
        """How long a cache line takes from core to core, 0 if that is not known. Cores may be
        virtual, and move: what takes 50 us while they share a cache takes 150 us when they do
        not."""
        bench = self.args.build / "bin" / "esp-bench"
        command = [self.args.build / "bin" / "esp-run", "-n", 2, bench, "--op", "barrier",
                   "--budget-ms", 1]  # fmt: skip
        try:
            return launch.run_json(command, LIMIT_S)["proximity_ns"]["after"]
        except launch.LaunchError as error:
            say(f"distance of the cores: {error}")
            return 0.0

    def _wait_until_near(self) -> float:
        end = time.monotonic() + (0 if self.args.smoke else NEAR_WAIT_S)
        while True:
            line_ns = self._line_ns()
            if line_ns < table.NEAR_NS or time.monotonic() >= end:
                return line_ns
            time.sleep(0.5)

    def _run_near(self, command: list) -> tuple:
        """(the launch, seconds it took), repeated while the cores move during it."""
        for _ in range(MOVED_LAUNCHES):
            line = {"before": self._wait_until_near()}
            begin = time.monotonic()
            result = launch.run_json(command, LIMIT_S)
            seconds = time.monotonic() - begin
            line["after"] = self._line_ns()
            result |= {"proximity_ns": line}
            if not analysis.is_moved(result):
                break
            self.repeated += 1
        return result, seconds

    def _launch(self, layout: Layout, library, number: int) -> None:
        kept, key = self.launches[layout][library.name], (layout, library.name)
        slow = self._seconds.get(key, 0) > SLOW_S
        if len(kept) < number and not slow or slow and len(kept) >= SLOW_LAUNCHES:
            return  # It failed once, or would take too long.
        if self._failed.get(key, 0) == FAILURES_MAX:
            return
        args = ["--op", ",".join(self.args.ops), "--bytes", ",".join(map(str, self.args.sizes)),
                "--budget-ms", self.args.budget_ms, "--samples-min", 5]  # fmt: skip
        command = library.command(self.nodes, layout, self.cores, library.program, args)
        dealt = self.nodes.deal(number, layout.nodes)
        try:
            result, seconds = self._run_near(command)
            kept.append(result | {"dealt": dealt})
        except launch.LaunchError as error:
            seconds = LIMIT_S
            self._failed[key] = self._failed.get(key, 0) + 1
            self.failures.append(f"{library.name}, {layout}: {error}")
            say(f"failed: {self.failures[-1]}")
            self.nodes.clear()
        self._seconds[key] = max(self._seconds.get(key, 0), seconds)


def source_version() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def write(summary: dict, raw: dict, args) -> None:
    folder = args.build / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes_tcp.json").write_text(json.dumps({**summary, "raw": raw}, indent=1) + "\n")
    if args.publish:
        results = ROOT / "docs" / "results"
        (results / "nodes_tcp.json").write_text(json.dumps(summary, indent=1) + "\n")
        head = (pathlib.Path(__file__).parent / "report.md").read_text()
        tables = table.render(summary, markdown=True)
        (results / "nodes_tcp.md").write_text(head.replace("TABLES\n", tables))
        subprocess.run([sys.executable, ROOT / "scripts" / "pictures.py"], check=True)


def main() -> int:
    args = parse()
    libraries = launchers.find_libraries(args.build / "bin", args.only, say)
    if not libraries:
        say("SKIP: nothing to measure")
        return SKIPPED
    try:
        with network.Nodes(max(layout.nodes for layout in args.layouts)) as nodes:
            comparison = Comparison(args, libraries, nodes)
            found = {} if args.no_costs else costs.measure(comparison, args, say)
            comparison.run()
    except network.NoNodes as reason:
        say(f"SKIP: {reason}")
        return SKIPPED
    summary = table.summarize(comparison.launches, args.ops, args.sizes, comparison.cores)
    summary |= {"source": source_version(), "failures": comparison.failures, "costs": found,
                "repeated": comparison.repeated}  # fmt: skip
    raw = {str(layout): of for layout, of in comparison.launches.items()}
    write(summary, raw, args)
    print(table.render(summary, markdown=False), end="")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
