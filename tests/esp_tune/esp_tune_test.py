#!/usr/bin/env python3
"""esp_tune_test.py TEST ESP_TUNE ESP_RUN: esp-tune as its users see it.

What is the fastest differs from run to run, so no check depends on it: only on which cells there
are, on the form of the file, and on what stays.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

TUNE, RUN = sys.argv[2:4]
TIMEOUT = 100
HEAD = "espalier profile 1\n"
OPERATIONS = ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "scan", "exscan",
              "gather", "scatter", "reduce_scatter_block"]
# A run of a second or so.
SHORT = ["--minutes", "0.01"]


def environment(**more):
    """Without the tester's own settings and profile."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("ESPALIER_", "XDG_"))}
    return kept | more


def tune(*arguments, ranks=2, launcher=(), expect=0, **more):
    command = [RUN, "-n", str(ranks), "--timeout", str(TIMEOUT), *launcher, TUNE,
               *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=TIMEOUT + 10, stdin=subprocess.DEVNULL, env=environment(**more))
    assert done.returncode == expect, (command, done.returncode, done.stdout, done.stderr)
    assert "setting" not in done.stderr, done.stderr  # no warning about what it sets itself
    return done.stderr


def rows_of(path):
    """Of a profile: the words of each row; its form is checked."""
    lines = pathlib.Path(path).read_text().splitlines()
    assert lines[0] == HEAD.strip(), lines
    assert re.match(r"made  \d{4}-\d\d-\d\d \d\d:\d\d UTC on \S+ \(\d+ CPUs, .*\) by esp-tune \d",
                    lines[1]), lines
    rows = [row for line in lines[2:] if (row := line.partition("#")[0].split())]
    assert all(len(row) == 14 for row in rows), rows
    return rows


def measured(path):
    """{operation and situation: sizes}, as the file notes them."""
    notes = re.findall(r"^# measured (.*): (.*)$", pathlib.Path(path).read_text(), re.M)
    return {where: list(map(int, sizes.split())) for where, sizes in notes}


def test_options():
    def fails(pattern, *arguments, ranks=2):
        said = tune(*arguments, ranks=ranks, expect=2)
        found = re.findall(pattern, said)
        assert len(found) == 1, (arguments, said)  # one rank speaks
    with tempfile.TemporaryDirectory() as folder:
        output = f"{folder}/profile"
        fails(r'--ops: "bcost" is not among barrier, bcast,', "--ops", "bcost")
        fails(r'--ops: "allgatherv" is not among', "--ops", "bcast,allgatherv")
        fails(r"--ranks: 4 are more than the job's 2", "--ranks", "4", "--output", output)
        fails(r"--ranks: Value 1 not in range", "--ranks", "1")
        fails(r'--bytes: "10" is no multiple of 4', "--bytes", "8,10")
        fails(r'--bytes: "128M" is no multiple of 4 from 4 to 64M', "--bytes", "128M")
        fails(r"--minutes: Value 0 not in range", "--minutes", "0")
        fails(r"esp-tune: .*--nonsense", "--nonsense")
        fails(r"one rank alone has nothing to choose", "--output", output, ranks=1)
        assert not os.path.exists(output)
    done = subprocess.run([TUNE, "--help"], capture_output=True, text=True, check=True)
    assert "esp-run -n 8 esp-tune" in done.stdout


def test_a_profile():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/new/profile"
        said = tune("--ops", "allreduce,scan", "--bytes", "8,16K", "--output", path, *SHORT)
        rows = rows_of(path)
        assert {row[0] for row in rows} == {"allreduce", "scan"}
        assert all(row[1:4] == ["2", "1", "-"] and row[4] in ("own", "shared") for row in rows)
        assert all(float(row[11]) > 0 for row in rows), rows
        assert sorted(measured(path).values()) == [[8, 16384]] * 2
        assert re.search(rf"^esp-tune: {path}: 4 cells measured", said, re.M), said
        assert re.search(r"^esp-tune: allreduce on 2 ranks: .*\(2 of 4 cells", said, re.M), said
        assert "\r" not in said  # no bar where there is no terminal
        assert os.listdir(f"{folder}/new") == ["profile"]


def test_a_second_run_goes_on():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "profile")
        options = ["--ops", "bcast", "--output", path, *SHORT]
        tune(*options, "--bytes", "8,512")
        before = path.read_text()
        said = tune(*options, "--bytes", "8,512")
        assert "has all of it" in said, said
        assert path.read_text() == before
        said = tune(*options, "--bytes", "8,512,16K")
        assert "1 cells measured" in said, said
        assert list(measured(path).values()) == [[8, 512, 16384]]
        said = tune(*options, "--bytes", "8,512", "--again")
        assert "2 cells measured" in said, said
        assert list(measured(path).values()) == [[8, 512, 16384]]


def test_other_rows_stay():
    others = ["# by hand", "bcast 64+ 2-4 rdma - 16K tree chain - 64K - - - -  # why not"]
    others[1] = others[1].replace("64K", "65536")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "profile")
        path.write_text(HEAD + "\n".join(others) + "\n")
        tune("--ops", "barrier", "--output", path, *SHORT)
        lines = path.read_text().splitlines()
        assert all(line in lines for line in others), lines
        assert [row[0] for row in rows_of(path)] == ["bcast", "barrier"]


def test_garbage_stays():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "profile")
        for text, pattern in ((HEAD + "\nbcast 8 one\n", ":3: 3 columns, expected 14"),
                              ("poem\n", ":1: it does not begin with")):
            path.write_text(text)
            said = tune("--ops", "barrier", "--output", path, expect=2)
            assert pattern in said and "stays as it is" in said, said
            assert path.read_text() == text
        said = tune("--ops", "barrier", "--output", folder, expect=2)
        assert "is not a regular file" in said, said


def test_files_that_cannot_be_written():
    said = tune("--ops", "barrier", "--output", "/proc/nothing/profile", expect=1)
    assert re.search(r"cannot (make|write) /proc/nothing", said), said
    assert "UTC" not in said
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "file").write_text("")
        tune("--ops", "barrier", "--output", f"{folder}/file/profile", expect=1)
        assert os.listdir(folder) == ["file"]


def test_the_users_profile():
    with tempfile.TemporaryDirectory() as folder:
        tune("--ops", "barrier", *SHORT, XDG_CONFIG_HOME=f"{folder}/xdg", HOME=f"{folder}/home")
        assert rows_of(f"{folder}/xdg/espalier/profile")
        # The profile that is there does not count while it is measured.
        tune("--ops", "barrier", "--again", *SHORT, XDG_CONFIG_HOME=f"{folder}/xdg", HOME=folder)
        tune("--ops", "barrier", *SHORT, HOME=f"{folder}/home")
        assert rows_of(f"{folder}/home/.config/espalier/profile")
        said = tune("--ops", "barrier", HOME="", expect=2)
        assert "give an --output" in said, said


def test_nodes():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/profile"
        tune("--ops", "allreduce", "--bytes", "8", "--output", path, *SHORT, ranks=4,
             launcher=("--nodes", "2"), ESPALIER_WIRES="shm,tcp")
        assert sorted(measured(path)) == ["allreduce 2 2 tcp -", "allreduce 4 2 tcp -"]


def test_every_operation():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/profile"
        tune("--bytes", "64", "--ranks", "3", "--output", path, "--minutes", "0.1", ranks=4)
        assert [where.split()[:3] for where in measured(path)] == [
            [operation, "3", "1"] for operation in OPERATIONS]


def test_interrupted():
    """What was measured is in the file, which is whole, and nothing else is left."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "profile")
        with subprocess.Popen([RUN, "-n", "2", TUNE, "--ops", "bcast", "--output", path,
                               "--minutes", "60"], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env=environment()) as process:
            limit = time.monotonic() + TIMEOUT
            while not (path.exists() and rows_of(path)):
                assert time.monotonic() < limit and process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT)
            assert process.returncode != 0
        assert rows_of(path) and os.listdir(folder) == ["profile"]
        tune("--ops", "bcast", "--output", path, "--bytes", "8", *SHORT)  # it can be read


if __name__ == "__main__":
    globals()[f"test_{sys.argv[1]}"]()
