"""esp-run as its users see it. Usage: esp_run_test.py TEST ESP_RUN BOOT_PROBE"""

import os
import re
import resource
import signal
import socket
import subprocess
import time

import jobs
from jobs import Job, eventually, lines_in, skip

import sys

ESP_RUN, PROBE = sys.argv[2:4]
REPEAT = int(os.environ.get("REPEAT", 5))


def esp_run(*arguments, **popen):
    return Job(ESP_RUN, "--timeout", "50", *arguments, **popen)


def test_exit_codes():
    for way, code in (("3", 3), ("kill", 137), ("segv", 139), ("leave", 1)):
        for nodes in (1, 2):
            with esp_run("-n4", "--nodes", nodes, PROBE, "exit", "2", way) as job:
                job.expect(code, err="rank 2 on")
    with esp_run("-n4", "--nodes", "2", PROBE, "abort", "3", "9") as job:
        job.expect(9, err="for the test")
    with esp_run("-n3", "true") as job:
        job.expect(0)
    with esp_run("-n3", "sh", "-c", "exit $((PMIX_RANK == 1 ? 42 : 0))") as job:
        job.expect(42, err="rank 1 on")


def test_helpful_errors():
    with Job(ESP_RUN, "-n2", "no-such-program") as job:
        job.expect(127, err="program 'no-such-program' not found in PATH")
    with Job(ESP_RUN, "-n2", "./no/such/program") as job:
        job.expect(127, err="not found")
    with open("here", "w") as file:
        file.write("#!/bin/sh\n")
    with Job(ESP_RUN, "-n2", "./here") as job:
        job.expect(126, err="chmod +x")
    os.chmod("here", 0o755)
    with Job(ESP_RUN, "-n2", "here") as job:
        job.expect(127, err="write ./here")
    with Job(ESP_RUN, "-n2", "/") as job:
        job.expect(126, err="is a directory")
    with open("orphan", "w") as file:
        file.write("#!/no/such/interpreter\n")
    os.chmod("orphan", 0o755)
    with Job(ESP_RUN, "-n2", "./orphan") as job:
        job.expect(127, err="interpreter")
    with Job(ESP_RUN, "-n2", "--nodes", "3", "true") as job:
        job.expect(125, err="3 nodes need at least as many ranks")
    for bad, why in ((["--wrong", "true"], "unknown option '--wrong'"),
                     (["-n", "zero", "true"], "--ranks: 'zero' is not a whole number from 1 to"),
                     (["-np", "0", "true"], "--ranks: '0' is not a whole number from 1 to"),
                     (["--nodes", "2x", "true"], "--nodes: '2x' is not a whole number"),
                     (["--bind", "node", "true"],
                      "--bind: 'node' is not one of socket, l3, numa, core, hwthread and none"),
                     (["--timeout", "-3", "true"], "--timeout: '-3' is not a number of seconds"),
                     (["--timeout", "nan", "true"], "--timeout: 'nan' is not a number of seconds"),
                     (["--timeout", "9999999999", "true"], "--timeout: '9999999999' is not a"),
                     (["-nodes", "2", "true"], "unknown option '-nodes': is --nodes meant?"),
                     (["-n", "2", "-timeout=3", "true"], "is --timeout meant?"),
                     (["-n", "2"], "which program?"), ([], "which program?")):
        with Job(ESP_RUN, *bad) as job:
            job.expect(125, err=why)
            assert "Try 'esp-run --help'" in job.err, job.err
    for help_text in ("--keep-going", "-np means the same"):
        with Job(ESP_RUN, "--help") as job:
            job.expect(0, out=help_text)
    with Job(ESP_RUN, "--version") as job:
        assert re.fullmatch(r"esp-run \(espalier\) \d+\.\d+\.\d+\n", job.expect(0).out), job.out
    # The program's own options are not ours.
    with esp_run("-np", "2", "echo", "--tag", "-n", "7") as job:
        assert job.expect(0).out == "--tag -n 7\n" * 2
    with esp_run("-n", "1", "--nodes=1", "echo", "-np", "7", "-nodes") as job:
        assert job.expect(0).out == "-np 7 -nodes\n"


def test_limits():
    def as_nobody_with_few_processes():
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (12, 12))

    if os.getuid() != 0:
        skip("needs root to become a user without other processes")
    if not os.access(ESP_RUN, os.X_OK):
        skip("nobody cannot reach the build folder")
    os.chmod(".", 0o755)
    with Job(ESP_RUN, "-n60", "sleep", "30", preexec_fn=as_nobody_with_few_processes) as job:
        job.expect(125, err="fork")
    with esp_run("-n40", PROBE, "exchange",
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))) as job:
        assert len(job.expect(0).out.splitlines()) == 40


def test_few_descriptors():
    def limited(limit):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    for arguments in (["-n40"], ["-n40", "--nodes", "40"], ["-n12", "--tag"]):
        with esp_run(*arguments, PROBE, "exchange", preexec_fn=limited(32)) as job:
            job.expect(125, err=r"open files, and the limit (ulimit -n) is 32")
    with esp_run("-n10", PROBE, "exchange", preexec_fn=limited(32)) as job:
        assert len(job.expect(0).out.splitlines()) == 10


def test_output():
    script = "i=0; while [ $i -lt 300 ]; do echo line $PMIX_RANK $i; i=$((i+1)); done;" \
             "echo to stderr >&2; printf unfinished"
    with esp_run("-n6", "--nodes", "3", "--tag", "sh", "-c", script) as job:
        job.expect(0)
        seen = {rank: [] for rank in range(6)}
        for line in job.out.splitlines():
            match = re.fullmatch(r"\[(\d)\] (line (\d) \d+|unfinished)", line)
            assert match, f"not a whole line: {line!r}"
            seen[int(match[1])].append(match[2])
        for rank in range(6):
            expected = [f"line {rank} {i}" for i in range(300)] + ["unfinished"]
            assert seen[rank] == expected, f"rank {rank}: {len(seen[rank])} lines"
        assert sorted(job.err.splitlines()) == [f"[{rank}] to stderr" for rank in range(6)]
    with esp_run("-n2", "--tag", "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x") as job:
        parts = [line.split("] ")[1] for line in job.expect(0).out.splitlines()]
        assert sum(map(len, parts)) == 400000, "a long line is broken, not lost"
    # Inherited, without a copy in between: a file stays a file.
    readlink = ("readlink", "/proc/self/fd/1")
    with open("out", "w") as file, esp_run("-n1", *readlink, stdout=file) as job:
        job.finish()
    assert job.code == 0 and lines_in("out") == [os.path.realpath("out")]
    with open("in", "w") as file:
        file.write("hello\n")
    with open("in") as file, esp_run("-n3", "--tag", "cat", stdin=file) as job:
        assert job.expect(0).out == "[0] hello\n", "stdin belongs to rank 0"
    # A reader that goes away ends the job rather than filling a pipe for ever.
    with esp_run("-n2", "--tag", "yes") as job:
        job.process.stdout.read(1000)
        job.process.stdout.close()
        job.process.stdout = None
        code = job.process.wait(20)
        assert code == 128 + signal.SIGPIPE, code


def waiting(*arguments, ranks=4, **popen):
    """A job whose ranks all sleep after a barrier."""
    job = esp_run("-n", ranks, *arguments, PROBE, "wait", os.path.abspath("ready"), **popen)
    try:
        eventually(lambda: len(lines_in("ready")) == ranks, "all ranks are up")
    except AssertionError:
        job.__exit__()
        raise
    os.remove("ready")
    return job


def test_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with waiting("--nodes", "2") as job:
            asked = time.monotonic()
            job.signal(number)
            job.expect(128 + number)
            assert time.monotonic() - asked < 1.9, f"{number}: by the signal, not by SIGKILL"
    script = "trap 'echo caught; exit 5' TERM; trap 'echo user' USR1; echo up; " \
             "while :; do sleep 0.05; done"
    with esp_run("-n1", "sh", "-c", script) as job:
        assert job.process.stdout.readline() == "up\n"
        job.signal(signal.SIGUSR1)
        assert job.process.stdout.readline() == "user\n"
        job.signal(signal.SIGTERM)
        job.expect(5, out="caught")
    stubborn = "trap '' TERM INT; echo up; while :; do sleep 0.05; done"
    with esp_run("-n1", "sh", "-c", stubborn) as job:
        job.process.stdout.readline()
        asked = time.monotonic()
        job.signal(signal.SIGTERM)
        job.expect(128 + signal.SIGTERM)
        assert time.monotonic() - asked > 1.5, "a grace period first"
    with esp_run("-n1", "sh", "-c", stubborn) as job:
        job.process.stdout.readline()
        asked = time.monotonic()
        job.signal(signal.SIGINT)
        time.sleep(0.2)
        job.signal(signal.SIGINT)
        job.expect(128 + signal.SIGINT)
        assert time.monotonic() - asked < 1.5, "the second signal does not wait"


def test_stop_and_continue():
    with waiting() as job:
        ranks = [pid for pid in job.pids() if parent_of_parent(pid) == job.process.pid]
        assert len(ranks) == 4, ranks
        job.signal(signal.SIGTSTP)
        eventually(lambda: all(jobs.process_state(pid) == "T" for pid in ranks), "ranks stop")
        eventually(lambda: jobs.process_state(job.process.pid) == "T", "the launcher stops")
        job.signal(signal.SIGCONT)
        eventually(lambda: all(jobs.process_state(pid) != "T" for pid in ranks), "ranks go on")
        os.kill(ranks[0], signal.SIGSTOP)
        job.signal(signal.SIGTERM)
        job.expect(128 + signal.SIGTERM)


def parent_of_parent(pid):
    return jobs.parent_of(jobs.parent_of(pid))


def files_everywhere():
    return {folder: set(os.listdir(folder)) for folder in ("/dev/shm", "tmp")}


def test_kill_launcher():
    os.mkdir("tmp")
    environment = dict(os.environ, TMPDIR=os.path.abspath("tmp"))
    before = files_everywhere()
    for nodes in (1, 3):
        with waiting("--nodes", nodes, "--tag", env=environment) as job:
            assert len(job.pids()) == 1 + nodes + 4
            job.signal(signal.SIGKILL)
            job.process.wait()
            eventually(lambda: not job.pids(), "all processes are gone", 5)
    # Also what a rank has started.
    script = "sleep 50 & sh -c 'sleep 50; true'; true"
    with esp_run("-n2", "sh", "-c", script, env=environment) as job:
        eventually(lambda: len(job.pids()) >= 1 + 1 + 2 + 4, "children of ranks are up")
        job.signal(signal.SIGKILL)
        job.process.wait()
        eventually(lambda: not job.pids(), "all processes are gone", 5)
    assert files_everywhere()["tmp"] == before["tmp"], files_everywhere()
    assert not [name for name in os.listdir("/tmp") if name.startswith("pmix") and
                os.stat(f"/tmp/{name}").st_mtime > time.time() - 30]


def test_kill_daemon():
    for flags, code in (([], 137), (["--keep-going"], 137)):
        with waiting("--nodes", "2", *flags) as job:
            daemons = job.daemons()
            assert len(daemons) == 2
            os.kill(daemons[0], signal.SIGKILL)
            if flags:  # The survivors go on.
                time.sleep(0.5)
                assert job.process.poll() is None
                job.signal(signal.SIGTERM)
            job.expect(code, err="the daemon of node")


def test_children_end_with_their_rank():
    with esp_run("-n2", "sh", "-c", "sleep 50 & exit 0") as job:
        job.expect(0)
        assert job.seconds < 20


def test_ranks_that_end_at_once():
    # Faster than the launcher starts the next one.
    for command, code in ((["true"], 0), (["sh", "-c", "exit 7"], 7)):
        for nodes in (1, 4):
            for _ in range(REPEAT):
                with esp_run("-n32", "--nodes", nodes, *command) as job:
                    job.expect(code)
    # All leave properly, while the launcher is busy with those that were faster.
    for _ in range(2 * REPEAT):
        with esp_run("-n32", PROBE, "exchange") as job:
            assert job.expect(0).out.count("ok ") == 32, job.out


def test_timeout():
    for flags in ([], ["--keep-going"], ["--nodes", "2"]):
        with Job(ESP_RUN, "-n4", "--timeout", "1", *flags, "sh", "-c",
                 "[ $PMIX_RANK = 2 ] || exec sleep 50") as job:
            job.expect(124, err="still running: ranks 0-1, 3")
            assert "  ranks 0-1, 3: has not called esp_job_init" in job.err, job.err
            assert job.seconds < 10
    for limit in ("40", "31536000"):
        with Job(ESP_RUN, "-n2", "--timeout", limit, "true") as job:
            job.expect(0)
            assert job.seconds < 20, "a limit that is not reached does not matter"


def test_timeout_of_a_stopped_job():
    # It counts while the job can run, and no longer.
    with Job(ESP_RUN, "-n2", "--nodes", "2", "--timeout", "2.5", "sh", "-c",
             "echo up; exec sleep 50") as job:
        for _ in range(2):
            job.process.stdout.readline()
        job.signal(signal.SIGTSTP)
        eventually(lambda: jobs.process_state(job.process.pid) == "T", "the launcher stops")
        time.sleep(3)
        job.signal(signal.SIGCONT)
        time.sleep(0.5)
        assert job.process.poll() is None, "its time is not over"
        job.expect(124, err="still running: ranks 0-1")
        assert 4 < job.seconds < 10, job.seconds


def test_keep_going():
    for nodes in (1, 2, 4):
        for way, code in (("kill", 137), ("segv", 139), ("6", 6), ("leave", 1)):
            with esp_run("-n4", "--nodes", nodes, "--keep-going", PROBE, "death", "2", way) as job:
                job.expect(code)
                assert job.out.count("ok ") == 3, job.out


def test_death_in_fence():
    # With 4 nodes the victim is its node's last rank.
    for nodes in (1, 2, 4):
        with esp_run("-n4", "--nodes", nodes, "--keep-going", PROBE, "die-in-fence", "1") as job:
            job.expect(137)
            assert job.out.count("ok ") == 3, job.out


def test_death_before_the_exchange():
    for nodes in (1, 2, 4):
        for victim in (0, 1):
            for when in ("before", "after"):
                with esp_run("-n6", "--nodes", nodes, "--keep-going", PROBE, "die-early", victim,
                             when) as job:
                    job.expect(137)
                    assert job.out.count("ok ") == 5, job.out


def listening_ports(pids):
    inodes = set()
    for pid in pids:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                link = os.readlink(f"/proc/{pid}/fd/{fd}")
            except OSError:
                continue
            if link.startswith("socket:["):
                inodes.add(link[8:-1])
    ports = set()
    for line in lines_in("/proc/net/tcp")[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in inodes:
            address, port = fields[1].split(":")
            assert address == "0100007F", f"listens beyond loopback: {address}"
            ports.add(int(port, 16))
    return ports


def test_strangers():
    with esp_run("-n4", "--nodes", "2", PROBE, "gate", os.path.abspath("ready"),
                 os.path.abspath("go")) as job:
        eventually(lambda: len(lines_in("ready")) == 4, "all ranks are up")
        daemons = job.daemons()
        assert not listening_ports([job.process.pid]), "the root's port closes after the start"
        ports = listening_ports(daemons)
        assert ports, "the PMIx servers listen"
        silent = []
        for port in ports:
            for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100000, b"\0" * 100, b""):
                stranger = socket.create_connection(("127.0.0.1", port), 5)
                try:
                    stranger.sendall(garbage)
                except OSError:
                    pass  # Cut off: even better.
                silent.append(stranger)
        with open("go", "w"):
            pass
        job.expect(0)
        assert job.out.count("ok ") == 4, job.out
        for stranger in silent:
            stranger.close()


def test_idle():
    with waiting("--nodes", "2", "--tag") as job:
        ours = [job.process.pid] + job.daemons()

        def spent():
            before = [jobs.cpu_ticks(pid) for pid in ours]
            time.sleep(2)
            return sum(jobs.cpu_ticks(pid) for pid in ours) - sum(before)

        # Who polls is never quiet; a slow machine is only quiet when all have come to rest.
        windows = [spent()]
        while windows[-1] > 1 and len(windows) < 10:
            windows.append(spent())
        assert windows[-1] <= 1, f"CPU ticks in 2 s each: {windows}"
        job.signal(signal.SIGTERM)
        job.expect(143)


def where(*arguments, **popen):
    with esp_run(*arguments, PROBE, "where", **popen) as job:
        job.expect(0)
    rows = sorted(line.split() for line in job.out.splitlines())
    return [(int(row[1]), row[2], row[3], row[4]) for row in sorted(rows, key=lambda r: int(r[1]))]


def cpu_list(text):
    cpus = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def cores():
    """The CPUs of each core that we may use, in order."""
    allowed = os.sched_getaffinity(0)
    found = []
    for cpu in sorted(allowed):
        path = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        siblings = cpu_list(lines_in(path)[0]) if os.path.exists(path) else [cpu]
        core = ",".join(str(one) for one in siblings if one in allowed)
        if core not in found:
            found.append(core)
    return found


def test_binding():
    everything = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
    assert [row[3] for row in where("-n3")] == [everything] * 3
    ranks = 2 * len(cores()) + 1
    bound = [row[3] for row in where("-n", ranks, "--bind", "core")]
    assert sorted(set(bound)) == sorted(cores()), (bound, cores())
    assert bound[:len(cores())] == bound[len(cores()):2 * len(cores())], "round and round"
    for wide in ("numa", "socket"):
        cpus = {row[3] for row in where("-n4", "--bind", wide)}
        assert ",".join(sorted(",".join(cpus).split(","), key=int)) == everything, cpus
    threads = [row[3] for row in where("-n", ranks, "--bind", "hwthread")]
    assert sorted(set(threads), key=int) == everything.split(",")[:ranks], threads
    first = sorted(os.sched_getaffinity(0))[0]
    limited = where("-n3", "--bind", "core", preexec_fn=lambda: os.sched_setaffinity(0, [first]))
    assert [row[3] for row in limited] == [str(first)] * 3, "within what we were given"
    # What is reported, once, is what is.
    with esp_run("-n3", "--nodes", "2", "--bind", "core", "--report-bindings", PROBE, "where",
                 preexec_fn=lambda: os.sched_setaffinity(0, [first])) as job:
        job.expect(0, err="--bind core: 3 ranks on 1 core: some ranks share one")
    reported = re.findall(r"esp-run: rank (\d) on \S+-node(\d): bound to core \d.*, CPU (\d+)\n",
                          job.err)
    expected = [(str(rank), str(node), str(first)) for rank, node in ((0, 0), (1, 1), (2, 1))]
    assert reported == expected, job.err


def test_nodes():
    host = socket.gethostname()
    assert [row[2] for row in where("-n2")] == [host] * 2
    rows = where("-n5", "--nodes", "2")
    assert [row[2] for row in rows] == [f"{host}-node0"] * 2 + [f"{host}-node1"] * 3, rows
    assert len({row[1] for row in rows}) == 1, "one job id"
    assert rows[0][1] != where("-n1")[0][1], "another job, another id"


def test_what_a_rank_inherits():
    with esp_run("-n4", "--nodes", "2", "--tag", "ls", "/proc/self/fd") as job:
        fds = [line.split("] ")[1] for line in job.expect(0).out.splitlines()]
        assert sorted(fds) == sorted(["0", "1", "2", "3", "4"] * 4), \
            f"3 is the file of states, 4 is ls itself: {fds}"
    with esp_run("-n1", "grep", "Sig", "/proc/self/status") as job:
        status = dict(line.split() for line in job.expect(0).out.splitlines())
    assert int(status["SigBlk:"], 16) == 0, status
    assert int(status["SigIgn:"], 16) & (1 << (signal.SIGINT - 1)) == 0, status
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    with esp_run("-n1", "sh", "-c", "ulimit -n") as job:
        assert job.expect(0).out.strip() in (str(limit), "unlimited")


def test_nested():
    with esp_run("-n2", ESP_RUN, "-n", "3", "--nodes", "2", PROBE, "exchange") as job:
        assert job.expect(0).out.count("ok ") == 6, job.out


def test_no_loopback():
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True)
    if probe.returncode != 0:
        skip("this user may not make a network namespace")
    with Job("unshare", "--net", ESP_RUN, "-n2", "true") as job:
        job.expect(125, err="127.0.0.1")


jobs.run(globals())
