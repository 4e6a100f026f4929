"""One launch of esp-bench: start, time limit, JSON back, nothing left behind."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time


LOOK_S, END_S = 5.0, 15.0  # how often a launch is looked at; the longest that its end may take


class LaunchError(Exception):
    """The launch failed; the text says how."""


class TimedOut(LaunchError):
    """It had to be ended; `partial`: what it had written by then, or None. With the key "complete"
    that is all, and the library hung in its end."""

    partial = None


def end_when_told() -> None:
    """A SIGTERM ends this program as Ctrl-C does: it takes ranks and nodes along."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _outputs(process, limit_s: float, is_done) -> str:
    """Waits for the end, at most END_S after `is_done` was seen. Raises TimeoutExpired."""
    end = time.monotonic() + limit_s
    while True:
        try:
            return process.communicate(timeout=max(0.0, min(LOOK_S, end - time.monotonic())))[0]
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                raise
        if is_done():
            end, is_done = min(end, time.monotonic() + END_S), lambda: False


def run(command: list, limit_s: float, is_done=lambda: False) -> tuple:
    """Runs in a process group of its own; returns (seconds, output). Raises LaunchError. What has
    done its work, as `is_done` says, has little time to end."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output = _outputs(process, limit_s, is_done)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        how = f"within {limit_s:.0f} s" if time.perf_counter() - start >= limit_s else "when done"
        raise TimedOut(f"did not end {how}") from None
    except BaseException:  # Ctrl-C: take the ranks along.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        lines = output.strip().splitlines()
        # What esp-bench said; launchers bury it under remarks of their own.
        said = [line for line in lines if line.startswith("esp-bench")] or lines[-3:]
        raise LaunchError(f"exit code {process.returncode}: {' | '.join(said[:3])}")
    return seconds, output


def _read(path: pathlib.Path) -> dict | None:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def run_json(command: list, limit_s: float) -> dict:
    """Runs `command` + --json FILE and returns what was written."""
    with tempfile.TemporaryDirectory(prefix="esp-bench-") as folder:
        path = pathlib.Path(folder) / "out.json"
        try:
            run([*command, "--quiet", "--json", path], limit_s,
                lambda: "complete" in (_read(path) or {}))  # fmt: skip
        except TimedOut as error:
            error.partial = _read(path)
            raise
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise LaunchError(f"no JSON from esp-bench: {error}") from None
