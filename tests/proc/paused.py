"""A job that is stopped for longer than its limits and goes on. Nobody was late.

Usage: paused.py ESP_RUN PROBE WHO OPERATION NODES. WHO is stopped: all (SIGTSTP to the launcher,
which stops its ranks and itself), ranks (each of them, one after the other, and continued so), or
one (a rank that waits; those whose limit is longer go on).
"""

import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "boot"))
import jobs  # noqa: E402
from jobs import Job, eventually  # noqa: E402

LIMIT, WARNING, STOPPED = 2.0, 1.2, 3.0
RANKS, WAITS = 3, 0


def ranks_of(job):
    daemons = job.daemons()
    found = [pid for pid in job.pids() if jobs.parent_of(pid) in daemons]
    return sorted(found, key=rank_of)


def rank_of(pid):
    with open(f"/proc/{pid}/environ") as file:
        return int(next(part for part in file.read().split("\0")
                        if part.startswith("PMIX_RANK=")).split("=")[1])


def stop(job, pids, whole):
    if whole:
        job.signal(signal.SIGTSTP)
    for pid in pids:
        if not whole:
            os.kill(pid, signal.SIGSTOP)
        eventually(lambda: jobs.process_state(pid) == "T", "it stops")
    if whole:
        eventually(lambda: jobs.process_state(job.process.pid) == "T", "the launcher stops")


def go_on(job, pids, whole):
    if whole:
        job.signal(signal.SIGCONT)
    else:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.1)


def main():
    esp_run, probe, who, operation, nodes = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "go")
        limits = f"ESPALIER_TIMEOUT={LIMIT} ESPALIER_STALL_WARNING={WARNING}"
        if who == "one":  # All but the one that is stopped have time.
            limits = f"$([ $PMIX_RANK != {WAITS} ] || echo {limits})"
        command = ["sh", "-c", f"exec env {limits} {probe} {operation} {file}"]
        with Job(esp_run, "--timeout", "30", "-n", RANKS, "--nodes", nodes, *command) as job:
            for _ in range(RANKS):
                assert job.process.stdout.readline().startswith("WAITS")
            ranks = ranks_of(job)
            assert [rank_of(pid) for pid in ranks] == list(range(RANKS)), ranks
            pids = [ranks[WAITS]] if who == "one" else ranks
            time.sleep(0.4)  # They have waited when they are stopped.
            stop(job, pids, who == "all")
            time.sleep(STOPPED)
            if who == "one":
                go_on(job, pids, False)
                time.sleep(0.1)  # It had all it needs to accuse somebody.
                open(file, "w").close()
            else:
                open(file, "w").close()
                go_on(job, pids, who == "all")
            job.expect(0)
            assert job.out.count("OK rank") == RANKS, job.out + job.err
            assert "wait" not in job.err, job.err


main()
