"""The launches between nodes, in turns, each while the cores are near each other."""

import os
import time

import analysis
import launch
import network
import table
from comparison import failure_text, is_enough, rounds_text, shortage

LIMIT_S, FAILURES_MAX = 60.0, 2  # of a look at the cores; of a case and library
NEAR_WAIT_S, MOVED_LAUNCHES = 20.0, 3  # until the cores are near; tries until they have stayed so


class Comparison:
    """Keeps every launch's JSON, per case and library."""

    def __init__(self, args, cases: list, libraries: list, nodes: network.Nodes, progress):
        self.args, self.libraries, self.nodes = args, libraries, nodes
        self.progress, self.say = progress, progress.say
        self.cores = len(os.sched_getaffinity(0))
        self.launches = {
            case: {library.name: [] for library in libraries if library.suits(case.layout)}
            for case in cases
        }
        self.failures, self.repeated, self.rounds = [], 0, 0
        self._given_up = set()  # (case, library) that took too long for all rounds
        self._seconds, self._failed = {}, {}  # of the slowest launch; how often, how the last did

    def run(self) -> None:
        begin = time.monotonic()
        for number in range(self.args.rounds):
            for case in self.launches:
                # The first round is always whole, so that every cell has a number.
                if number > 0 and time.monotonic() - begin > self.args.minutes * 60:
                    self.say(self.rounds_text())
                    return
                for library in self.libraries:
                    if library.suits(case.layout):
                        self._launch(case, library, number)
            self.rounds = number + 1

    def rounds_text(self) -> str:
        return rounds_text(self.rounds, self.args.rounds)

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
            self.say(f"distance of the cores: {error}")
            return 0.0

    def _wait_until_near(self) -> float:
        end = time.monotonic() + (0 if self.args.smoke else NEAR_WAIT_S)
        while True:
            line_ns = self._line_ns()
            if line_ns < table.NEAR_NS or time.monotonic() >= end:
                return line_ns
            time.sleep(0.5)

    def _run_near(self, command: list, limit_s: float) -> tuple:
        """(the launch, seconds it took), repeated while the cores move during it."""
        for _ in range(MOVED_LAUNCHES):
            line = {"before": self._wait_until_near()}
            begin = time.monotonic()
            result = launch.run_json(command, limit_s)
            seconds = time.monotonic() - begin
            line["after"] = self._line_ns()
            result |= {"proximity_ns": line}
            if not analysis.is_moved(result):
                break
            self.repeated += 1
        return result, seconds

    def _launch(self, case, library, number: int) -> None:
        kept, key = self.launches[case][library.name], (case, library.name)
        if self._failed.get(key, (0, ""))[0] >= FAILURES_MAX:
            return
        if is_enough(case.step, kept, self._seconds.get(key, 0)):
            self._given_up.add(key)
            return
        self.progress(f"round {number + 1} of {self.args.rounds}: {case}, {library.name}")
        command = library.command(self.nodes, case.layout, self.cores, library.program,
                                  case.step.args())  # fmt: skip
        dealt = self.nodes.deal(number, case.layout.nodes)
        try:
            result, seconds = self._run_near(command, case.step.limit_s())
            kept.append(result | {"dealt": dealt})
            self._seconds[key] = max(self._seconds.get(key, 0), seconds)
        except launch.LaunchError as error:
            self._note_failure(key, error, kept, dealt)
            self.failures.append(f"{library.name}, {case}: {self._failed[key][1]}")
            self.say(f"failed: {self.failures[-1]}")
            self.nodes.clear()

    def _note_failure(self, key: tuple, error, kept: list, dealt: int) -> None:
        how = failure_text(error, len(key[0].step.cells()), kept)
        times = self._failed.get(key, (0, ""))[0] + 1
        if isinstance(error, launch.TimedOut) and "complete" not in (error.partial or {}):
            times = FAILURES_MAX  # It would take as long again.
        if kept:
            kept[-1].setdefault("dealt", dealt)
        self._failed[key] = (times, how)

    def left_out(self) -> list:
        """Per case and library that has less than was planned: what, and why."""
        found = []
        for case, of in self.launches.items():
            for name, launches in of.items():
                key = (case, name)
                rounds = self.args.rounds if key in self._given_up else len(launches)
                why = shortage(launches, len(case.step.cells()), rounds,
                               self._seconds.get(key, 0),
                               self._failed.get(key, (0, ""))[1])  # fmt: skip
                if why:
                    found.append({"nodes": case.layout.nodes, "per_node": case.layout.per_node,
                                  "buffers": case.step.buffers, "library": name,
                                  "ops": f"{case.step.ops[0]} to {case.step.ops[-1]}",
                                  "why": why})  # fmt: skip
        return found
