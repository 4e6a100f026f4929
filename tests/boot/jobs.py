"""Running a job in a test and looking at what it leaves: common to the tests of this folder.

A test is a function test_<name>(); run() calls the one that the command line names. A test fails by
an exception and is skipped by skip(). Every process of a job carries a mark in its environment, by
which it is found even when its parent is gone.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

SKIPPED = 77
MARK = "BOOT_TEST_MARK"


class Skip(Exception):
    pass


def skip(reason):
    raise Skip(reason)


def require_program(*names):
    for name in names:
        found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if found:
            return found
    skip(f"{names[0]} is not installed")


def eventually(condition, what, seconds=20):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


class Job:
    """A command with a mark. Ends with the `with` block, whatever happened."""

    def __init__(self, *command, **popen):
        self.mark = uuid.uuid4().hex
        self.command = [str(part) for part in command]
        environment = dict(popen.pop("env", os.environ))
        environment[MARK] = self.mark
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        popen.setdefault("stdin", subprocess.DEVNULL)
        self.started = time.monotonic()
        self.process = subprocess.Popen(self.command, env=environment, text=True, **popen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr, self.process.stdin):
            if stream:
                stream.close()

    def pids(self):
        """All living processes with this job's mark."""
        found = []
        needle = f"{MARK}={self.mark}".encode()
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    is_ours = needle in file.read().split(b"\0")
                if is_ours and process_state(int(name)) != "Z":
                    found.append(int(name))
            except OSError:
                pass
        return found

    def daemons(self):
        """The node daemons: the launcher's own children."""
        return [pid for pid in self.pids() if parent_of(pid) == self.process.pid]

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, timeout=60):
        out, err = self.process.communicate(timeout=timeout)
        self.seconds = time.monotonic() - self.started
        self.out, self.err, self.code = out or "", err or "", self.process.returncode
        return self

    def expect(self, code, err="", out=""):
        """The exit code (None: any failure), texts that must appear, and that nothing is left."""
        self.finish()
        told = f"{' '.join(self.command)}\nexit code {self.code}, expected {code}\n" \
               f"stdout:\n{self.out}stderr:\n{self.err}"
        assert self.code != 0 if code is None else self.code == code, told
        assert err in self.err, f"'{err}' is not in stderr of {told}"
        assert out in self.out, f"'{out}' is not in stdout of {told}"
        assert "probe failed" not in self.err, told
        eventually(lambda: not self.pids(), f"processes left by {told}", 5)
        return self


def stat_fields(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


def process_state(pid):
    return stat_fields(pid)[0]


def parent_of(pid):
    try:
        return int(stat_fields(pid)[1])
    except OSError:
        return None


def cpu_ticks(pid):
    fields = stat_fields(pid)
    return int(fields[11]) + int(fields[12])


def lines_in(path):
    try:
        with open(path) as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def run(tests):
    name = sys.argv[1]
    folder = tempfile.mkdtemp(prefix="esp-boot-")
    os.chdir(folder)
    try:
        tests[f"test_{name}"]()
    except Skip as reason:
        print(f"SKIP: {reason}")
        sys.exit(SKIPPED)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    print(f"passed: {name}")
