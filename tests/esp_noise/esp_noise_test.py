#!/usr/bin/env python3
"""esp_noise_test.py TEST ESP_NOISE ESP_RUN ESP_INFO: esp-noise as its users see it.

No check depends on how fast the machine is: the injector writes down when the kernel reported the
program stopped and when it let it go, and the program, which looks at the same clock without pause,
must not have seen any instant in between.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

NOISE, RUN, INFO = sys.argv[2:5]
TIMEOUT = 60

# Looks at the clock for SECONDS and writes first and last look, and every gap of half a
# millisecond or more.
WATCH = """
import sys, time
first = last = time.monotonic_ns()
end, gaps = first + int(float(sys.argv[1]) * 1e9), []
while last < end:
    now = time.monotonic_ns()
    if now - last >= 500_000:
        gaps.append((last, now))
    last = now
print(first, last)
for gap in gaps:
    print(*gap)
"""


def noise(*arguments, expect=0, **options):
    done = subprocess.run([NOISE, *map(str, arguments)], capture_output=True, text=True,
                          timeout=TIMEOUT, check=False, **options)
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def read_record(path):
    """The epoch, and (begin, length, planned begin, planned length) per detour, in nanoseconds."""
    text = pathlib.Path(path).read_text()
    epoch = int(re.search(r"^# epoch_ns (\d+)$", text, re.M).group(1))
    us = r"(\d+)\.(\d{3})"
    lines = re.findall(rf"^{us} {us}  # planned {us} {us}$", text, re.M)
    return epoch, [tuple(int(a) * 1000 + int(b) for a, b in zip(line[::2], line[1::2]))
                   for line in lines]


def test_options():
    def fails(pattern, *arguments, code=2):
        done = noise(*arguments, expect=code)
        assert re.search(pattern, done.stderr), (arguments, done.stderr)
        assert "ran" not in done.stdout
    fails("^esp-noise: --spec is required", "--", "echo", "ran")
    fails("^esp-noise: unknown option --sumary", "--spec", "none", "--sumary", "--", "echo", "ran")
    fails("which program", "--spec", "none")
    fails("which program", "--spec", "none", "--")
    fails('noise "gauss:1hz": there is no kind', "--spec", "gauss:1hz", "--", "echo", "ran")
    fails("leave no time for work", "--spec", "fixed:10hz:1s", "--", "echo", "ran")
    fails("cannot write /nonexistent/0: No such file", "--spec", "none", "--rank", 0, "--record",
          "/nonexistent/%r", "--", "echo", "ran")
    fails("--rank", "--spec", "none", "--rank", -1, "--", "echo", "ran")
    fails("nonexistent-program: No such file", "--spec", "none", "--", "nonexistent-program",
          code=127)
    fails("/: Permission denied", "--spec", "none", "--", "/", code=127)
    assert "uniform:10hz" in noise("--help").stdout


def test_ends_like_the_program():
    for spec in ("none", "fixed:1000hz:100us"):
        done = noise("--spec", spec, "--", "sh", "-c", "cat; echo --spec $0; exit 7", "--seed",
                     expect=7, input="standard input\n")
        assert done.stdout == "standard input\n--spec --seed\n", done.stdout
        noise("--spec", spec, "--", "sh", "-c", "kill -TERM $$", expect=-signal.SIGTERM)
        noise("--spec", spec, "--", "sh", "-c", "kill -KILL $$", expect=-signal.SIGKILL)


def test_stands_still_in_detours():
    with tempfile.TemporaryDirectory() as folder:
        record = f"{folder}/record"
        done = noise("--spec", "fixed:50hz:4ms", "--seed", 3, "--record", record, "--summary", "--",
                     sys.executable, "-c", WATCH, "1.5")
        looks = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
        (first, last), gaps = looks[0], looks[1:]
        epoch, detours = read_record(record)
        checked = 0
        for begin, length, planned_begin, planned_length in detours:
            assert length >= planned_length and begin >= planned_begin
            begin += epoch
            if first < begin and begin + length < last and length >= 1_000_000:
                checked += 1
                assert any(a <= begin and begin + length <= b for a, b in gaps), (begin, length)
        # 20 ms apart, but for those that were cut off at time 0: none is left out, none added.
        planned = [detour[2] for detour in detours]
        assert all(b - a == 20_000_000 for a, b in zip(planned[1:], planned[2:])), planned
        assert checked > 0
        total = sum(length for _, length, _, _ in detours)
        assert f"{len(detours)} detours, {total / 1e6:.1f} ms of" in done.stderr, done.stderr


def test_same_seed_same_noise():
    def planned(seed, rank):
        with tempfile.TemporaryDirectory() as folder:
            noise("--spec", "uniform:200hz:0-1ms", "--seed", seed, "--rank", rank, "--record",
                  f"{folder}/%r", "--", "sleep", "0.2")
            return [detour[2:] for detour in read_record(f"{folder}/{rank}")[1]]

    first, again, other_seed = planned(1, 5), planned(1, 5), planned(2, 5)
    other_rank = planned(1, 6)
    common = min(map(len, (first, again, other_seed, other_rank)))
    assert common > 1
    assert first[:common] == again[:common]
    assert first[:common] != other_seed[:common]
    assert first[:common] != other_rank[:common]


def test_aligned_detours_begin_together():
    def begins(rank, wait):
        with tempfile.TemporaryDirectory() as folder:
            time.sleep(wait)
            noise("--spec", "uniform:50hz:1-4ms:aligned", "--seed", 4, "--rank", rank, "--record",
                  f"{folder}/r", "--", "sleep", "0.3")
            epoch, detours = read_record(f"{folder}/r")
            assert len({detour[3] for detour in detours}) > 1, "lengths are drawn"
            # The first may be the rest of one that had begun.
            return {(epoch + detour[2]) % 20_000_000 for detour in detours[1:]}

    first, second = begins(1, 0), begins(2, 0.007)
    assert len(first) == 1 and first == second, (first, second)


def test_a_record_is_a_trace():
    with tempfile.TemporaryDirectory() as folder:
        noise("--spec", "uniform:100hz:1-2ms", "--record", f"{folder}/a", "--", "sleep", "0.2")
        noise("--spec", f"trace:{folder}/a", "--record", f"{folder}/b", "--", "sleep", "0.5")
        lengths = {detour[1] for detour in read_record(f"{folder}/a")[1]}
        repeated = [detour[3] for detour in read_record(f"{folder}/b")[1]]
        assert repeated[1:] and set(repeated[1:]) <= lengths, (lengths, repeated)


def wait_for_line(process):
    line = process.stdout.readline().strip()
    assert line, "the program did not start"
    return line


def test_hands_signals_on():
    script = "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen([NOISE, "--spec", "fixed:10hz:50ms", "--", "sh", "-c", script],
                          stdout=subprocess.PIPE, text=True) as process:
        wait_for_line(process)
        process.send_signal(signal.SIGUSR1)
        assert process.wait(TIMEOUT) == 9


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_leaves_nothing_behind():
    # Killed while the program runs and, with long detours, while it is stopped.
    for spec in ("none", "fixed:2hz:499ms"):
        with subprocess.Popen([NOISE, "--spec", spec, "--", "sh", "-c", "echo $$; exec sleep 1000"],
                              stdout=subprocess.PIPE, text=True) as process:
            pid = int(wait_for_line(process))
            process.kill()
            process.wait(TIMEOUT)
            limit = time.monotonic() + TIMEOUT
            while is_running(pid):
                assert time.monotonic() < limit, f"process {pid} is left"
                time.sleep(0.01)


def test_under_esp_run():
    with tempfile.TemporaryDirectory() as folder:
        def run(*program):
            done = subprocess.run([RUN, "-n", "4", "--timeout", str(TIMEOUT), NOISE, "--spec",
                                   "uniform:100hz:0-5ms", "--record", f"{folder}/%r", "--",
                                   *program], capture_output=True, text=True, check=False,
                                  timeout=TIMEOUT + 10, stdin=subprocess.DEVNULL)
            return done.returncode, done.stdout + done.stderr
        # A job of the library: joins, reports of all ranks, leaves.
        code, output = run(INFO, "--every-rank")
        assert code == 0 and all(f"rank {rank} of 4" in re.sub(" +", " ", output)
                                 for rank in range(4)), output
        assert sorted(os.listdir(folder)) == ["0", "1", "2", "3"]
        code, output = run("sh", "-c", "test $PMIX_RANK != 2 || exit 5")
        assert code == 5, (code, output)


if __name__ == "__main__":
    globals()[f"test_{sys.argv[1]}"]()
