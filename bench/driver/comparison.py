"""The launches of a comparison: in turns, with an end, and a word for each that is left out."""

import time

import analysis
import launch

# A library whose calls take milliseconds (spinning ranks without a core) needs no third launch, and
# no second where that takes minutes.
SLOW_LAUNCHES, VERY_SLOW = 2, 3.0


def refusals(launches: list) -> list:
    """Why rows of these launches have no time, one entry a row."""
    return [row["refusal"] for one in launches for row in one["rows"] if row.get("refusal")]


def shortage(launches: list, cells: int, rounds: int, seconds: float, failure: str) -> str:
    """Why a library has fewer launches or rows of a step than were planned; empty: it has them.
    `failure`: how its last launch failed."""
    if failure:
        return failure
    refused = refusals(launches)
    few = f"{len(launches)} of {rounds} launches: one takes {seconds:.0f} s"
    if refused:
        each = len(refused) / len(launches)
        return f"{each:.0f} of {cells} rows: {refused[0]}; {few}"
    return few if launches and len(launches) < rounds else ""


def failure_text(error: launch.LaunchError, cells: int, kept: list) -> str:
    """How a launch failed. What it had measured when it was ended is kept."""
    partial = getattr(error, "partial", None)
    if partial is None:
        return f"{error}; {len(kept)} launches before"
    kept.append(partial)
    rows = sum(not row.get("refusal") for row in partial["rows"])
    return f"{error}, with {rows} of {cells} rows; {len(kept) - 1} launches before"


def rounds_text(whole: int, planned: int) -> str:
    return f"whole rounds: {whole} of {planned}" + ("" if whole == planned else ", time was up")


def is_enough(step, launches: list, seconds: float) -> bool:
    """Whether a library is so slow at a step that it needs no further launch; `seconds`: of its
    slowest one."""
    if not launches or seconds <= step.slow_s():
        return False
    very_slow = seconds > VERY_SLOW * step.slow_s() or bool(refusals(launches))
    return very_slow or len(launches) >= SLOW_LAUNCHES


class Comparison:
    """Runs the plan and keeps every launch's JSON."""

    def __init__(self, found: list, plan, cores: int, deadline_s: float, progress):
        self.backends, self.plan, self.cores = found, plan, cores
        self.deadline_s, self.progress = deadline_s, progress
        self.results = {
            step: {b.name: [] for b in found if step.ranks > cores or not b.only_crowded}
            for step in plan.steps
        }
        self.failures = []
        self.retried = 0
        self.rounds = 0  # whole ones
        self._broken = {}  # (step, library) that failed once, and how: not tried again
        self._given_up = set()  # (step, library) that took too long for all rounds
        self._seconds = {}  # (step, library): of its slowest launch

    def run(self) -> None:
        for number in range(self.plan.rounds):
            for step in self.plan.steps:
                # The first round is always whole, so that every cell has a number.
                if number > 0 and self.progress.seconds() > self.deadline_s:
                    self.progress.say(self.rounds_text())
                    return
                for backend in self.backends:
                    self._launch(backend, step, f"round {number + 1} of {self.plan.rounds}")
            self.rounds = number + 1
        self._retry_dirty()

    def rounds_text(self) -> str:
        return rounds_text(self.rounds, self.plan.rounds)

    def _launch(self, backend, step, label: str) -> None:
        kept = self.results[step].get(backend.name)
        key = (step, backend.name)
        if kept is None or key in self._broken:
            return
        if is_enough(step, kept, self._seconds.get(key, 0)):
            self._given_up.add(key)
            return
        self.progress(f"{label}: {step.ranks} ranks, {backend.name}")
        command = backend.command(step.ranks, self.cores, str(backend.program), step.args())
        start = time.monotonic()
        try:
            kept.append(launch.run_json(command, step.limit_s()))
            self._seconds[key] = max(self._seconds.get(key, 0), time.monotonic() - start)
        except launch.LaunchError as error:
            self._broken[key] = failure_text(error, len(step.cells()), kept)
            self.failures.append(f"{backend.name}, {step.ranks} ranks: {self._broken[key]}")
            self.progress.say(f"failed: {self.failures[-1]}")

    def _retry_dirty(self) -> None:
        for number in range(self.plan.retries):
            for step, launches_of in self.results.items():
                for backend in self.backends:
                    launches = launches_of.get(backend.name, [])
                    clean = sum(not analysis.is_dirty(one) for one in launches)
                    if not launches or clean >= self.plan.rounds:
                        continue
                    if (step, backend.name) in self._given_up | self._broken.keys():
                        continue
                    if self.progress.seconds() > self.deadline_s:
                        return
                    self.retried += 1
                    self._launch(backend, step, f"retry {number + 1}")

    def left_out(self) -> list:
        """Per step and library that has less than was planned: what, and why."""
        found = []
        for step, launches_of in self.results.items():
            for name, launches in launches_of.items():
                key = (step, name)
                rounds = self.plan.rounds if key in self._given_up else len(launches)
                why = shortage(launches, len(step.cells()), rounds, self._seconds.get(key, 0),
                               self._broken.get(key, ""))  # fmt: skip
                if why:
                    found.append({"ranks": step.ranks, "buffers": step.buffers, "library": name,
                                  "ops": f"{step.ops[0]} to {step.ops[-1]}", "why": why})
        return found

    def all_launches(self) -> list:
        return [x for of in self.results.values() for launches in of.values() for x in launches]
