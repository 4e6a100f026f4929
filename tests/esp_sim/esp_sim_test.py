#!/usr/bin/env python3
"""esp_sim_test.py TEST ESP_SIM: esp-sim as its users see it."""

import csv
import io
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SIM = sys.argv[2]
SMALL = ["--ranks", "8", "--bytes", "64K", "--segment", "8K", "--shape", "binomial"]


def sim(*arguments, expect=0):
    done = subprocess.run([SIM, *map(str, arguments)], capture_output=True, text=True, timeout=100,
                          check=False)
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def fails(pattern, *arguments, code=2):
    done = sim(*arguments, expect=code)
    assert re.search(pattern, done.stderr), (arguments, done.stderr)
    assert done.stdout == "", done.stdout


def test_bad_arguments():
    fails("--frobnicate", "--frobnicate")
    fails("--shape", "--shape", "star")
    fails("--ranks", "--ranks", 0)
    fails("--ranks", "--ranks", "many")
    fails("--bytes", "--bytes", "-1")
    fails("--window-send", "--window-send", 65)
    fails("--root 8: there are 8 ranks", "--ranks", 8, "--root", 8)
    fails('seeds "5-1": "5-1" is neither', "--seeds", "5-1")
    fails('--noise: noise "loud": there is no kind "loud"', "--noise", "loud")
    fails("one of the names loss, duplicate", "--faults", "lost=1")
    fails("act on datagrams", "--faults", "loss=0.1")
    fails("act on connections", "--faults", "rnr=0.1")
    fails("without heal=TIME", "--faults", "retry=1")
    fails("more ranks crash", "--faults", "crash=9", "--ranks", "8")
    fails("--segment", "--segment", "-3")
    fails("--algorithm", "--algorithm", "short")
    fails("--trace and --explain are about one run, and these are 2", "--explain", "--seeds", "1-2")
    fails("--trace and --explain are about one run, and these are 2", "--trace", "-", "--ranks",
          "4,8")
    fails("--goal is about one scenario", "--goal", "-", "--ranks", "4,8")
    fails("--svg needs an option with several numbers", "--svg", "-", *SMALL)
    fails("--svg needs an option with several numbers", "--svg", "-", "--variant", "event,waitall",
          *SMALL)
    fails("spread", "--algorithm", "spread", "--op", "bcast", *SMALL, code=1)


def test_bad_files():
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder, "bad.machine")
        machine.write_text("nonsense\n")
        fails(f"{machine}:1: ", "--machine", machine, *SMALL, code=1)
        fails("nonexistent", "--machine", "nonexistent", *SMALL, code=1)
        trace = pathlib.Path(folder, "trace")
        trace.write_text("1 2\nx y\n")
        fails(f"--noise: {trace}:2: \"x\" is not a number", "--noise", f"trace:{trace}")
        for option in ("--csv", "--json", "--goal", "--trace"):
            done = sim(option, f"{folder}/none/file", *SMALL, expect=1)
            assert f"cannot write {folder}/none/file: No such file" in done.stderr, done.stderr
        done = sim("--csv", "/dev/full", *SMALL, expect=1)
        assert "cannot write /dev/full" in done.stderr
    names = sim("--list-machines").stdout.split()
    assert "cori" in names and names == sorted(names), names


def test_table():
    lines = sim("--variant", "event,waitall,blocking", "--seeds", "1-3", *SMALL).stdout.splitlines()
    assert lines[0].startswith("simulated: cori, bcast, 64K bytes, 8 ranks"), lines
    assert lines[0].endswith("3 seeds"), lines
    assert lines[1].split() == ["variant", "median", "min", "max", "events", "unseed"], lines
    assert [line.split()[0] for line in lines[2:]] == ["event", "waitall", "blocking"], lines
    assert sim("--quiet", *SMALL).stdout == ""


def test_standard_output_is_for_one():
    for option, begin in (("--csv", "simulated,"), ("--json", "{"), ("--goal", "num_ranks"),
                          ("--trace", "{")):
        done = sim(option, "-", *SMALL)
        assert done.stdout.startswith(begin), done.stdout[:200]
        assert "simulated: cori" not in done.stdout, done.stdout[:200]
        assert done.stderr.startswith("simulated: cori"), done.stderr
    rows = list(csv.DictReader(io.StringIO(sim("--csv", "-", *SMALL).stdout)))
    assert len(rows) == 1 and None not in rows[0], rows
    done = sim("--csv", "-", "--explain", "--quiet", *SMALL)
    assert "critical path" in done.stderr and "critical path" not in done.stdout


def test_failed_runs_have_no_time():
    arguments = ["--ranks", "16", "--bytes", "64K", "--faults", "crash=1,heal=20us"]
    done = sim(*arguments, "--seeds", "1-20", "--quiet", "--json", "-")
    row = json.loads(done.stdout)["rows"][0]
    good = [run["makespan_ns"] for run in row["runs"] if run["failed_ranks"] == 0]
    assert 0 < row["failed_runs"] == 20 - len(good) < 20, row["failed_runs"]
    assert row["makespan_ns"]["min"] == min(good) and row["makespan_ns"]["max"] == max(good)
    bad = next(run["seed"] for run in row["runs"] if run["failed_ranks"] > 0)
    lines = sim(*arguments, "--seeds", str(bad)).stdout.splitlines()
    assert lines[1].endswith("failed runs") and lines[2].endswith("1 of 1"), lines
    assert lines[2].split()[:3] == ["-", "-", "-"], lines
    assert lines[3].startswith(f"failed with seed {bad} on 1 of 16 ranks: "), lines
    assert len(lines[3].split(": ")[1]) > 5, lines


def test_outputs():
    with tempfile.TemporaryDirectory() as folder:
        files = {kind: f"{folder}/{kind}" for kind in ("csv", "json")}
        sim("--ranks", "4,8", "--op", "bcast,allreduce", "--bytes", "4K", "--noise",
            "none,uniform:1000hz:0-100us", "--seeds", "3,5", "--faults", "retry=0.1,delay=0.1:1us",
            "--csv", files["csv"], "--json", files["json"])
        rows = list(csv.DictReader(pathlib.Path(files["csv"]).open(encoding="utf-8")))
        document = json.loads(pathlib.Path(files["json"]).read_text(encoding="utf-8"))
    assert len(rows) == 16 and all(None not in row and None not in row.values() for row in rows)
    assert {row["simulated"] for row in rows} == {"true"} and document["simulated"] is True
    assert {row["noise_share"] for row in rows} == {"0", "0.05"}
    assert {row["faults"] for row in rows} == {"retry=0.1,delay=0.1:1us"}
    assert len(document["rows"]) == 8
    flat = [(row["ranks"], row["operation"], row["noise"], run["seed"], run["makespan_ns"],
             run["unseed"]) for row in document["rows"] for run in row["runs"]]
    assert flat == [(int(row["ranks"]), row["operation"], row["noise"], int(row["seed"]),
                     int(row["makespan_ns"]), row["unseed"]) for row in rows]
    for row in document["rows"]:
        times = sorted(run["makespan_ns"] for run in row["runs"])
        assert row["makespan_ns"]["min"] == times[0] > 0
        assert row["makespan_ns"]["max"] == times[-1]
    # To the standard output, without a table in between.
    text = sim("--quiet", "--csv", "-", *SMALL).stdout
    assert len(list(csv.DictReader(io.StringIO(text)))) == 1


def test_plot():
    arguments = ["--bytes", "64K,256K,1M", "--ranks", "8", "--variant", "event,waitall", "--seeds",
                 "1-3", "--noise", "uniform:10hz:0-10ms", "--quiet", "--svg", "-"]
    text = sim(*arguments).stdout
    root = xml.etree.ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    words = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "event" in words and "waitall" in words and "message size (bytes)" in words, words
    assert any("simulated" in (word or "") for word in words)
    assert len([e for e in root.iter() if e.tag.endswith("circle")]) == 6 + 2
    assert text == sim(*arguments).stdout


def test_repeatable():
    arguments = ["--noise", "uniform:1000hz:0-100us", "--faults", "delay=0.2:2us,retry=0.1",
                 "--placement", "random", "--quiet", "--csv", "-", *SMALL]
    first = sim(*arguments, "--seeds", "1-20").stdout
    assert first == sim(*arguments, "--seeds", "1-20").stdout
    rows = list(csv.DictReader(io.StringIO(first)))
    assert len({row["unseed"] for row in rows}) == 20
    # Every seed by itself is the same run.
    alone = list(csv.DictReader(io.StringIO(sim(*arguments, "--seeds", "7").stdout)))
    assert alone[0] == rows[6]


def test_noise_costs():
    text = sim("--noise", "none,fixed:1000hz:300us", "--seeds", "1-5", "--quiet", "--json", "-",
               *SMALL).stdout
    quiet, loud = json.loads(text)["rows"]
    assert loud["makespan_ns"]["max"] > quiet["makespan_ns"]["max"]
    assert quiet["makespan_ns"]["min"] == quiet["makespan_ns"]["max"]


def test_trace():
    text = sim("--trace", "-", "--quiet", "--noise", "fixed:10000hz:10us", *SMALL).stdout
    document = json.loads(text)
    events = document["traceEvents"]
    assert document["otherData"]["simulated"] is True
    assert {event["pid"] for event in events} == set(range(8))
    transfers = [event for event in events if event["ph"] == "b" and event["name"] != "waiting"]
    sent = [event for event in transfers if event["name"].startswith("to ")]
    assert len(sent) == 7 * 8, "8 segments to each of 7 ranks"
    assert len([event for event in transfers if event["name"].startswith("from ")]) == 7 * 8
    ends = {(event["id"], event["name"]): event["ts"] for event in events if event["ph"] == "e"}
    assert all(ends[event["id"], event["name"]] >= event["ts"] for event in transfers)
    assert [event for event in events if event["name"] == "detour" and event["dur"] <= 10]


def test_explain():
    text = sim("--explain", *SMALL).stdout
    assert re.search(r"^critical path: \d+ transfers, ", text, re.M), text
    shares = [float(share) for share in re.findall(r"  (\d+\.\d) %  ", text)]
    assert len(shares) in (6, 7) and abs(sum(shares) - 100) < 0.5, text


def test_goal():
    text = sim("--goal", "-", "--quiet", "--ranks", 8, "--bytes", 1000, "--shape",
               "binomial").stdout
    ranks = dict(re.findall(r"^rank (\d+) \{\n(.*?)\}$", text, re.M | re.S))
    assert text.startswith("num_ranks 8\n") and len(ranks) == 8
    assert ranks["0"] == ("l1: send 1000b to 4 tag 0\nl2: send 1000b to 2 tag 0\n"
                          "l3: send 1000b to 1 tag 0\n")
    assert ranks["6"] == "l1: recv 1000b from 4 tag 0\nl2: send 1000b to 7 tag 0\nl2 requires l1\n"


def test_progress_bar():
    # On a terminal and not before a second: a bar, and at the end nothing is left of it.
    master, slave = pty.openpty()
    command = [SIM, "--ranks", "64", "--bytes", "4M", "--segment", "16K", "--seeds", "1-2000"]
    with subprocess.Popen(command, stderr=slave, stdout=subprocess.DEVNULL) as process:
        os.close(slave)
        text = b""
        while b"%" not in text:
            part = os.read(master, 4096)
            assert part, "ended without a bar"
            text += part
        process.terminate()
    assert re.search(rb"\[#*\.*\] +\d+ %  \d+ s", text), text


if __name__ == "__main__":
    globals()[f"test_{sys.argv[1]}"]()
