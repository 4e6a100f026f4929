"""esp-run where it is started badly, or hindered. Usage: esp_run_adversity_test.py TEST ESP_RUN"""

import fcntl
import os
import signal
import subprocess
import time

import jobs
from jobs import Job, eventually

import sys

ESP_RUN = sys.argv[2]


def esp_run(*arguments, **popen):
    return Job(ESP_RUN, "--timeout", "50", *arguments, **popen)


def test_closed_descriptors():
    with esp_run("-n2", "sh", "-c", "echo hello", preexec_fn=lambda: os.close(0)) as job:
        assert job.expect(0).out == "hello\n" * 2, job.err
    for closed in ((1,), (0, 1, 2)):
        for flags in ([], ["--tag"]):
            with esp_run("-n2", *flags, "sh", "-c", "echo hello; cat; ls /proc/self/fd/2",
                         preexec_fn=lambda: [os.close(fd) for fd in closed]) as job:
                job.expect(0)


def test_ignored_sigchld():
    def ignoring():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    with Job(ESP_RUN, "--timeout", "10", "-n2", "true", preexec_fn=ignoring) as job:
        job.expect(0)


def test_unwritable_stderr():
    def expect_42(stderr):
        for flags in ([], ["--keep-going"]):
            with esp_run("-n3", *flags, "sh", "-c", "exit $((PMIX_RANK == 1 ? 42 : 0))",
                         stderr=stderr) as job:
                job.expect(42)
        with Job(ESP_RUN, "no-such-program", stderr=stderr) as job:
            job.expect(127)
        with Job(ESP_RUN, "--no-such-option", stderr=stderr) as job:
            job.expect(125)

    with open("/dev/full", "w") as full:
        expect_42(full)
    # A pipe that nobody reads; its SIGPIPE is not for the ranks to miss.
    read_end, write_end = os.pipe()
    os.close(read_end)
    expect_42(write_end)
    os.close(write_end)
    with esp_run("-n1", "grep", "SigIgn", "/proc/self/status") as job:
        ignored = int(job.expect(0).out.split()[1], 16)
        assert ignored & (1 << (signal.SIGPIPE - 1)) == 0, job.out


def test_fast_output():
    # Two that write many lines, and a launcher that marks each: their pipe hardly ever runs empty.
    for end in (signal.SIGINT, signal.SIGKILL) * 3:
        with esp_run("--tag", "-n1", "sh", "-c", "yes '' & exec yes ''",
                     stdout=subprocess.DEVNULL) as job:
            eventually(lambda: len(job.pids()) == 1 + 1 + 2, "they run")
            time.sleep(0.3)
            job.signal(end)
            if end == signal.SIGINT:
                asked = time.monotonic()
                job.expect(128 + end)
                assert time.monotonic() - asked < 3, "by the signal, not by SIGKILL"
            eventually(lambda: not job.pids(), "all processes are gone", 5)


def test_reader_that_pauses():
    # What is killed is the launcher, while its daemons wait for somebody to read.
    for nodes in (1, 2):
        with esp_run("--tag", "-n2", "--nodes", nodes, "yes") as job:
            eventually(lambda: len(job.pids()) == 1 + nodes + 2, "it runs")
            time.sleep(0.5)
            job.signal(signal.SIGKILL)
            eventually(lambda: not job.pids(), "all processes are gone", 5)


def test_terminal_that_pauses():
    # It may have room for a byte, and then a write of more would wait.
    master, slave = os.openpty()
    with esp_run("--tag", "-n2", "yes", stdout=slave) as job:
        eventually(lambda: len(job.pids()) == 1 + 1 + 2, "it runs")
        time.sleep(0.5)
        job.signal(signal.SIGKILL)
        eventually(lambda: not job.pids(), "all processes are gone", 5)
    flags = fcntl.fcntl(slave, fcntl.F_GETFL)
    assert flags & os.O_NONBLOCK == 0, "the user's terminal has been changed"
    os.close(master)
    os.close(slave)


def test_children_of_a_killed_daemon():
    ranks = ("sh", "-c", "sleep 50 & wait")
    # What is left must not hold pipes of ours open, or we would wait for its end.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for flags in ([], ["--keep-going"]):
        with esp_run("-n4", "--nodes", "2", *flags, *ranks, **quiet) as job:
            eventually(lambda: len(job.pids()) == 1 + 2 + 4 + 4, "children of ranks are up")
            os.kill(job.daemons()[0], signal.SIGKILL)
            if flags:
                eventually(lambda: len(job.pids()) == 1 + 1 + 2 + 2, "the other node is left", 5)
                job.signal(signal.SIGTERM)
            job.expect(137)
    # A daemon that hangs is killed by the root.
    with esp_run("-n2", *ranks, **quiet) as job:
        eventually(lambda: len(job.pids()) == 1 + 1 + 2 + 2, "children of ranks are up")
        os.kill(job.daemons()[0], signal.SIGSTOP)
        job.signal(signal.SIGTERM)
        job.expect(128 + signal.SIGTERM)


def children_of(pid):
    """With those that have ended and are not reaped."""
    return [int(name) for name in os.listdir("/proc")
            if name.isdigit() and jobs.parent_of(int(name)) == pid]


def test_orphans_of_a_living_rank():
    # They become children of the root, whose number of children must not grow by that.
    with esp_run("-n1", "sh", "-c", "(sleep 2 &); echo up; exec sleep 50") as job:
        job.process.stdout.readline()
        eventually(lambda: len(children_of(job.process.pid)) == 2, "an orphan comes")
        eventually(lambda: len(children_of(job.process.pid)) == 1, "an orphan goes")
    # What made a session of its own stays, although the one that made it is reaped.
    daemon = "setsid sh -c 'sleep 50 & sleep 0.3'"
    with esp_run("-n1", "sh", "-c", f"({daemon} &); sleep 1", stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL) as job:
        assert job.finish().code == 0 and job.seconds < 20
        assert len(job.pids()) == 1, job.pids()


jobs.run(globals())
