"""One launch of esp-bench: start, time limit, JSON back, nothing left behind."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time


class LaunchError(Exception):
    """The launch failed; the text says how."""


def end_when_told() -> None:
    """A SIGTERM ends this program as Ctrl-C does: it takes ranks and nodes along."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def run(command: list, limit_s: float) -> tuple:
    """Runs in a process group of its own; returns (seconds, output). Raises LaunchError."""
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
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise LaunchError(f"did not end within {limit_s:.0f} s") from None
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


def run_json(command: list, limit_s: float) -> dict:
    """Runs `command` + --json FILE and returns what was written."""
    with tempfile.TemporaryDirectory(prefix="esp-bench-") as folder:
        path = pathlib.Path(folder) / "out.json"
        run([*command, "--quiet", "--json", path], limit_s)
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise LaunchError(f"no JSON from esp-bench: {error}") from None
