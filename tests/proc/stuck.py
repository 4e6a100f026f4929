"""Who waits for whom: SIGQUIT to the launcher of a job that is stuck, and --timeout.

Usage: stuck.py CASE ESP_RUN PROBE MPI_PROBE

Ranks take their time to get where they are going, so the question is asked until the answer is the
expected one. What is expected is exact.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "boot"))
import jobs  # noqa: E402
from jobs import Job  # noqa: E402

CASE, ESP_RUN, PROBE, MPI_PROBE = sys.argv[1:5]
PATIENCE = 90  # A debugger takes seconds for each rank.
HEAD = "esp-run: what the ranks do:"


def esp_run(*arguments, path=None, **settings):
    environment = dict(os.environ, ESPALIER_STALL_WARNING="0")
    if path:
        environment["PATH"] = path
    environment.update({f"ESPALIER_{name}": value for name, value in settings.items()})
    with open("said", "w") as said:
        job = Job(ESP_RUN, "--timeout", "230", *arguments, env=environment, stderr=said)
    # The launcher takes signals, and all ranks have joined.
    for _ in range(arguments[1]):
        job.process.stdout.readline()
    return job


def reports():
    """What has been said so far, without how long it took."""
    with open("said") as file:
        text = re.sub(r", for [\d.]+( to [\d.]+)? s$|for [\d.]+( to [\d.]+)? s: ", "", file.read(),
                      flags=re.M)
    return [part.splitlines()[1:] for part in text.split(HEAD)[1:]]


def states(report):
    """{rank: its lines} of one report."""
    found, ranks = {}, []
    for line in report:
        if line.startswith("  stack of"):
            break
        group = re.fullmatch(r"  ranks? ([\d, -]+): (.*)", line)
        if group:
            ranks = []
            for part in group[1].split(", "):
                first, _, last = part.partition("-")
                ranks += range(int(first), int(last or first) + 1)
            found.update({rank: [group[2]] for rank in ranks})
        else:
            assert line.startswith("    "), report
            for rank in ranks:
                found[rank].append(line.strip())
    return found


def ask(job):
    before = len(reports())
    job.signal(signal.SIGQUIT)
    jobs.eventually(lambda: len(reports()) > before, "an answer", PATIENCE)
    time.sleep(0.05)  # It is written in one go, but who knows.
    return states(reports()[-1])


def ask_until(job, expected, stacks=()):
    """`expected`: {rank: (state, pattern of what it waits for or None)}; `stacks`: patterns of
    what else is said. A debugger has its own patience with a slow machine, and is asked again."""
    limit = time.monotonic() + (2 * PATIENCE if stacks else PATIENCE)
    while True:
        answer = ask(job)
        wrong = {rank for rank, (state, what) in expected.items()
                 if answer.get(rank, [""])[0] != state
                 or (what is not None and not any(re.fullmatch(what, line)
                                                  for line in answer[rank][1:]))}
        with open("said") as file:
            said = file.read().split(HEAD)[-1]
        if not wrong and sorted(answer) == sorted(expected) and \
                all(stack.search(said) for stack in stacks):
            return
        assert time.monotonic() < limit, f"ranks {wrong} are not as expected: {answer}\n{said}"
        assert job.process.poll() is None, "the job goes on"


ASLEEP, SPINNING = "asleep in a wait", "spinning in a wait"
COMPUTES = "computing (not in Espalier)"
RECEIVE = r"receive of 16 bytes on channel 5 of team 0; awaits rank 2"


def test_parts(nodes=1):
    # Those of another node are awaited as far as they have been heard.
    barrier = r"barrier \(operation 1 on team 0\); awaits ranks 1-" + \
        ("5, 7" if nodes == 1 else "[345].*")
    with esp_run("-n", 8, "--nodes", nodes, PROBE, "parts") as job:
        ask_until(job, {
            0: (ASLEEP, barrier),
            1: (ASLEEP, RECEIVE),
            2: (COMPUTES, None),
            3: ("stopped (SIGSTOP, or a debugger); not in Espalier", None),
            4: ("polling", "receive of 4 bytes on channel 6 of team 0; awaits rank 3"),
            5: (ASLEEP, RECEIVE),
            6: ("in a wait, but not looking around (in a callback?)", None),
            7: ("sleeping in a system call (not in Espalier)", None),
        })
        job.signal(signal.SIGINT)
        job.finish()
        assert job.code == 128 + signal.SIGINT, job.code


def test_parts_of_nodes():
    test_parts(2)


def test_spinning():
    with esp_run("-n", 3, PROBE, "thread", SPIN_US="60000000") as job:
        ask_until(job, {0: (SPINNING, r"barrier \(operation 1 on team 0\); awaits ranks 1-2"),
                        1: (COMPUTES, None), 2: (COMPUTES, None)})


def test_thread():
    with esp_run("-n", 2, PROBE, "thread", PROGRESS_THREAD="1") as job:
        ask_until(job, {
            0: ("in a wait, for its progress thread",
                r"barrier \(operation 1 on team 0\); awaits rank 1"),
            1: ("outside Espalier, with a progress thread", None)})


def test_finalize():
    with esp_run("-n", 3, PROBE, "finalize") as job:
        ask_until(job, {0: (ASLEEP, "esp_job_finalize; awaits rank 1"), 1: (COMPUTES, None),
                        2: (ASLEEP, "esp_job_finalize; awaits rank 1")})


def test_mpi():
    with esp_run("-n", 2, "--nodes", 2, MPI_PROBE) as job:
        ask_until(job, {
            0: (ASLEEP, r"allreduce \(sum\) of 1 double \(operation \d+ on team \d+\); "
                        "awaits rank 1"),
            1: ("sleeping in a system call (not in Espalier)", None)})


def test_stopped_in_a_wait():
    with esp_run("-n", 2, PROBE, "thread") as job:
        ask_until(job, {0: (ASLEEP, None), 1: (COMPUTES, None)})
        daemons = job.daemons()
        for pid in job.pids():
            if jobs.parent_of(pid) in daemons and jobs.process_state(pid) != "R":
                os.kill(pid, signal.SIGSTOP)
        ask_until(job, {0: ("stopped (SIGSTOP, or a debugger); in a wait", None),
                        1: (COMPUTES, None)})
        job.signal(signal.SIGTERM)
        job.finish()
        assert job.code == 128 + signal.SIGTERM, job.code


def test_in_pid_namespaces():
    """As in containers: the number that a rank has there means another process here."""
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
        jobs.skip("no PID namespaces here: " + " ".join(inside) + " fails")
    with esp_run("-n", 2, *inside, PROBE, "thread") as job:
        ask_until(job, {0: (ASLEEP, None), 1: (COMPUTES, None)})
        daemons = job.daemons()
        for pid in job.pids():
            of_unshare = jobs.parent_of(jobs.parent_of(pid) or 0) in daemons
            if of_unshare and jobs.process_state(pid) == "R":
                os.kill(pid, signal.SIGSTOP)
        ask_until(job, {0: (ASLEEP, None),
                        1: ("stopped (SIGSTOP, or a debugger); not in Espalier", None)})


def test_stacks():
    """A debugger that is there; one that is not; one that is refused."""
    os.mkdir("fake")
    for name, script in (("eu-stack", 'echo "PID $2 - process"; echo "TID $2:"; '
                                      'echo "#0  0x$2 compute"; echo "#1  0x1 main"'),
                         ("gdb", 'echo "ptrace: not permitted" >&2; exit 1')):
        with open(f"fake/{name}", "w") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(f"fake/{name}", 0o755)
        path = os.path.abspath("fake")
        with esp_run("-n", 3, "--nodes", 2, "--stacks", PROBE, "thread", path=path) as job:
            ask(job)
            job.signal(signal.SIGINT)
            job.finish()
        with open("said") as file:
            said = file.read()
        if name == "gdb":
            assert "stack of ranks 0-2:\n    no frames were found:\n    ptrace: not" in said, said
        else:
            assert re.search(r"stack of ranks 0-2:\n    TID \d+:\n    #0  0x\d+ compute\n    #1",
                             said), said
        os.remove(f"fake/{name}")
    with esp_run("-n", 3, "--stacks", PROBE, "thread", path=path) as job:
        job.finish()
        assert job.code == 125, job.code
    assert "--stacks needs eu-stack (of elfutils) or gdb" in open("said").read()


def test_stacks_of_gdb():
    if shutil.which("eu-stack") or not shutil.which("gdb"):
        jobs.skip("gdb is not what is taken")
    with subprocess.Popen(["sleep", "100"]) as other:
        gdb = subprocess.run(["gdb", "-nx", "-batch", "-p", str(other.pid)], check=False,
                             capture_output=True, text=True)
        other.kill()
    if gdb.returncode != 0:
        jobs.skip(f"gdb may not look at other processes here: {gdb.stderr}")
    # Any call but the innermost may have become a jump to what it calls, and has no frame then.
    stacks = [re.compile(r"stack of rank 0:(\n    .*)+ espalier::Worker::.*(\n    .*)+ main "),
              re.compile(r"stack of rank 1:(\n    .*)+compute.*(\n    .*)+ main ")]
    with esp_run("-n", 2, "--stacks", PROBE, "thread") as job:
        ask_until(job, {0: (ASLEEP, None), 1: (COMPUTES, None)}, stacks)
        assert job.process.poll() is None, "the job goes on"


def test_ending():
    """Who has asked for the end wants it; asking again kills."""
    script = "trap '' INT; echo up; while :; do sleep 0.05; done"
    with esp_run("-n", 1, "sh", "-c", script) as job:
        job.signal(signal.SIGINT)
        time.sleep(0.2)
        job.signal(signal.SIGQUIT)
        job.finish()
        assert job.code == 128 + signal.SIGQUIT, job.code
        assert not reports(), reports()


jobs.run(globals())
