#!/usr/bin/env python3
"""esp_sim_test.py TEST ESP_SIM: esp-sim as its users see it."""

import csv
import io
import json
import os
import pathlib
import pty
import re
import resource
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
    fails("act on datagrams", "--faults", "branch-loss=0.1")
    fails("act on datagrams", "--faults", "branch-loss=0.1", "--multicast", "on")
    fails("--multicast", "--multicast", "sometimes")
    fails("the network of cori has no groups", "--multicast", "on", *SMALL, code=1)
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
    fails("--op", "--op", "point-to-point")
    for operation in ("allgather", "alltoallv", "bcast,scan"):
        last = operation.split(",")[-1]
        have = f"{last} has no trees; barrier, bcast, reduce, allreduce, gather and scatter have"
        fails(f"--shape: {have}", "--op", operation, "--shape", "chain")
        fails(f"--levels: {have}", "--op", operation, "--levels", "none,flat")


def test_multicast():
    arguments = ["--machine", "ri2", "--ranks", 16, "--ranks-per-node", 1, "--bytes", "8,16K,2M",
                 "--multicast", "off,auto,on", "--csv", "-", "--quiet"]
    text = sim(*arguments).stdout
    assert text == sim(*arguments).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    times = {(row["bytes"], row["multicast"]): int(row["makespan_ns"]) for row in rows}
    assert len(times) == 9, rows
    for size in ("8", "16384", "2097152"):
        off, auto, on = (times[size, how] for how in ("off", "auto", "on"))
        assert on < off and auto <= off, (size, off, auto, on)
    # o, one packet's t_s and t_o(16) = 50 ns ln(16), its bytes, L, and o.
    assert times["8", "on"] == 300 + 300 + 139 + 1 + 600 + 300, times
    few = ["--machine", "ri2", "--ranks", 32, "--ranks-per-node", 2, "--bytes", "64K"]
    for operation in ("bcast", "allreduce", "allgather", "barrier"):
        sim(*few, "--op", operation, "--multicast", "on")
    late = json.loads(sim(*few, "--op", "bcast", "--multicast", "on", "--faults", "loss=0.5",
                          "--json", "-", "--quiet").stdout)
    none = json.loads(sim(*few, "--op", "bcast", "--multicast", "on", "--json", "-",
                          "--quiet").stdout)
    assert late["rows"][0]["makespan_ns"]["min"] > none["rows"][0]["makespan_ns"]["min"], late
    assert "multicast on" in sim(*few, "--multicast", "on").stdout


def test_devices():
    few = ["--machine", "dgx-h100", "--ranks", 8, "--ranks-per-node", 8, "--levels", "auto",
           "--algorithm", "auto", "--bytes", "1M"]
    rows = list(csv.DictReader(io.StringIO(
        sim(*few, "--op", "bcast,reduce", "--devices", "off,whole,pieces,shared",
            "--device-reduce", "host,device", "--csv", "-", "--quiet").stdout)))
    times = {(row["operation"], row["devices"], row["device_reduce"]): int(row["makespan_ns"])
             for row in rows}
    assert len(rows) == len(times) == 4 + 6, times
    for operation in ["bcast", "reduce"]:
        assert times[operation, "off", "host"] < times[operation, "whole", "host"], times
    assert times["bcast", "shared", "host"] < times["bcast", "pieces", "host"], times
    assert times["reduce", "shared", "device"] < times["reduce", "pieces", "device"], times
    assert "devices shared" in sim(*few, "--devices", "shared").stdout
    sim(*few, "--devices", "shared", "--repeat", 3, "--noise", "fixed:1000hz:25us")
    died = list(csv.DictReader(io.StringIO(
        sim(*few, "--devices", "shared", "--repeat", 40, "--faults", "crash=1,heal=1ms", "--seeds",
            "1-6", "--csv", "-", "--quiet").stdout)))
    assert len(died) == 6 and any(int(run["failed_ranks"]) > 0 for run in died), died
    fails(r"the machine's file has no \[device\]", "--devices", "pieces", *SMALL, code=1)
    fails('has no "peer"', "--machine", "ri2", "--devices", "shared", *SMALL, code=1)
    fails("without neighbours", "--machine", "psg", "--op", "neighbor_allgather", "--devices",
          "pieces", "--ranks", 4, code=1)
    fails("nothing is reduced", "--device-reduce", "device", *SMALL)
    fails("know no devices", "--machine", "psg", "--devices", "pieces", "--explain", *SMALL)
    fails("not --devices", "--machine", "psg", "--devices", "pieces", "--overlap", "none", *SMALL)


def test_bad_applications():
    fails("--overlap", "--overlap", "half")
    fails('--work: "3" is neither a time', "--overlap", "none", "--work", "3")
    fails('--work: "-1x" is neither a time', "--overlap", "none", "--work=-1x")
    fails('--work: "nanx" is neither a time', "--overlap", "none", "--work", "nanx")
    fails("--work: nothing is computed without --overlap", "--work", "1x")
    fails("--consumer needs --consume RATE", "--consumer", "after")
    fails("there is no consumer without --consumer", "--consume", "1GB/s")
    fails("there is no consumer without --consumer", "--merge")
    fails('--consume: "fast" is not a rate', "--consumer", "after", "--consume", "fast")
    fails('--consume: "0GB/s" is not a rate', "--consumer", "after", "--consume", "0GB/s")
    fails("--groups: only --consumer partial", "--consumer", "after", "--consume", "1GB/s",
          "--groups", 2)
    fails("--groups", "--consumer", "partial", "--consume", "1GB/s", "--groups", 0)
    partial = ["--consumer", "partial", "--consume", "1GB/s"]
    fails("a barrier delivers nothing", *partial, "--op", "barrier")
    for overlap in ("none", "shared"):
        fails("needs a core that is not the library's", *partial, "--overlap", overlap)
    for application in (partial, ["--overlap", "thread"]):
        fails("without --noise and --faults", *application, "--noise", "fixed:1000hz:25us")
        fails("without --noise and --faults", *application, "--faults", "retry=0.1")
        fails("about one call", *application, "--repeat", 2)
        fails("about the operation alone", *application, "--explain")
        fails("about the operation alone", *application, "--goal", "-")


def test_overlap():
    arguments = ["--machine", "flat", "--ranks", 33, "--bytes", "1M", "--shape", "chain",
                 "--segment", "1M", "--csv", "-", "--quiet"]
    text = sim(*arguments, "--overlap", "off,none,thread,shared", "--work", "1x,2x,1ms").stdout
    assert text == sim(*arguments, "--overlap", "off,none,thread,shared", "--work",
                       "1x,2x,1ms").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["overlap"] for row in rows] == (["off"] + ["none"] * 3 + ["thread"] * 3 +
                                                ["shared"] * 3), rows
    off = rows.pop(0)
    assert (off["work"], off["operation_ns"], off["overlap_ratio"]) == ("off", "", ""), off
    alone = int(off["makespan_ns"])
    for row in rows:
        took, comm, work = (int(row[name]) for name in ("makespan_ns", "operation_ns", "work_ns"))
        assert comm == alone, row
        assert work == {"1x": alone, "2x": 2 * alone, "1ms": 1_000_000}[row["work"]], row
        ratio = (comm + work - took) / max(comm, work)
        assert abs(float(row["overlap_ratio"]) - ratio) < 1e-6, row
    none, thread, shared = (float(rows[i]["overlap_ratio"]) for i in (0, 3, 6))
    assert 0 < none < 0.04 < 0.9 < shared < thread == 1, (none, shared, thread)
    lines = sim(*SMALL, "--overlap", "none,thread").stdout.splitlines()
    assert lines[0].endswith("work 1x; 1 seed"), lines
    assert lines[1].split() == ["overlap", "median", "min", "max", "t_comm", "t_work", "r",
                                "events", "unseed"], lines
    assert "overlap none, work 2x" in sim(*SMALL, "--overlap", "none", "--work", "2x").stdout
    # Where there is nothing to hide there is no ratio.
    row = json.loads(sim("--op", "barrier", "--ranks", 1, "--overlap", "thread", "--quiet",
                         "--json", "-").stdout)["rows"][0]
    assert row["runs"][0]["overlap_ratio"] is None, row


def test_consumers():
    arguments = ["--machine", "flat", "--ranks", 16, "--op", "alltoall", "--bytes", "8K",
                 "--algorithm", "ring,bruck", "--consumer", "off,after,partial", "--consume",
                 "4 GB/s", "--groups", "1,4,16", "--json", "-", "--quiet"]
    for merge in [], ["--merge"]:
        rows = json.loads(sim(*arguments, *merge).stdout)["rows"]
        assert [row["groups"] for row in rows] == ["off", "off", "1", "4", "16"] * 2, rows
        for i in (0, 5):
            alone = rows[i]["makespan_ns"]["median"]
            after, *partial = (row["runs"][0] for row in rows[i + 1:i + 5])
            passes = 4 if merge else 1
            for run in after, *partial:
                assert run["operation_ns"] == alone, run
                assert run["work_ns"] == 16 * 8192 // 4 * passes, run
            assert after["makespan_ns"] == alone + after["work_ns"], after
            assert partial[2]["makespan_ns"] == after["makespan_ns"], partial
            assert partial[1]["makespan_ns"] < after["makespan_ns"], partial
            # Single blocks cannot be merged, and are the smallest groups of what needs no merge.
            ones = partial[0]["makespan_ns"]
            assert ones == after["makespan_ns"] if merge else ones < partial[1]["makespan_ns"]
    text = sim(*SMALL, "--consumer", "partial", "--consume", "4GB/s", "--merge").stdout
    assert "event, consumer partial, consume 4GB/s merged, 1 groups; 1 seed" in text, text


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


ALGORITHMS = {"allgather": ["publish", "ring", "bruck", "doubling"],
              "allgatherv": ["publish", "ring", "bruck", "doubling"],
              "alltoall": ["ring", "one-factor", "xor", "bruck"],
              "alltoallv": ["ring", "one-factor", "xor"],
              "scan": ["ring", "doubling"], "exscan": ["ring", "doubling"]}


def needs_power_of_two(op, algorithm):
    return algorithm == "xor" or (algorithm == "doubling" and "scan" not in op)


def test_gathers():
    # Every result is checked by the program itself.
    for op, algorithms in ALGORITHMS.items():
        for algorithm in algorithms:
            ranks = "1,2,8" if needs_power_of_two(op, algorithm) else "1,2,7,8"
            for machine in ("flat", "cori"):
                done = sim("--op", op, "--algorithm", algorithm, "--ranks", ranks, "--bytes",
                           "0,8,1000,64K", "--segment", "4K", "--machine", machine, "--quiet",
                           "--csv", "-")
                rows = list(csv.DictReader(io.StringIO(done.stdout)))
                assert {row["operation"] for row in rows} == {op}, rows
                assert len(rows) == 4 * len(ranks.split(",")), rows
    # What has no trees is left to the library where no algorithm is named.
    done = sim("--op", "bcast,alltoall,exscan", "--ranks", 8, "--bytes", 1000)
    lines = [line.split()[:2] for line in done.stdout.splitlines()[2:]]
    assert lines == [["bcast", "tree"], ["alltoall", "auto"], ["exscan", "auto"]], done.stdout
    # Of lists an operation is run with the algorithms that it has.
    done = sim("--op", "bcast,allgather,scan", "--algorithm", "tree,ring,publish", "--ranks", 4)
    lines = [line.split()[:2] for line in done.stdout.splitlines()[2:]]
    assert lines == [["bcast", "tree"], ["bcast", "publish"], ["allgather", "tree"],
                     ["allgather", "ring"], ["allgather", "publish"],
                     ["scan", "ring"]], done.stdout
    # A ring that follows nodes takes as long for any placement; one by rank numbers does not.
    times = []
    for how in ("--levels", "auto"), ("--algorithm", "ring"):
        done = sim("--op", "allgather", *how, "--machine", "parapluie", "--ranks", 48, "--bytes",
                   "64K", "--placement", "by-core,by-node", "--csv", "-", "--quiet")
        times += [int(row["makespan_ns"]) for row in csv.DictReader(io.StringIO(done.stdout))]
    assert times[1] < 1.1 * times[0] and times[3] > 5 * times[2], times
    fails("alltoallv has no Bruck algorithm", "--op", "alltoallv", "--algorithm", "bruck", code=1)
    fails("of 2.n members, not of 6", "--op", "alltoall", "--algorithm", "xor", "--ranks", 6,
          code=1)


def test_every_operation():
    # All that are offered work, and an operation is named by what it does.
    known = sim("--help").stdout
    for op in ("barrier", "bcast", "reduce", "allreduce", "allgather", "allgatherv", "alltoall",
               "alltoallv", "scan", "exscan", "gather", "gatherv", "scatter", "scatterv",
               "reduce_scatter_block", "reduce_scatter", "alltoallw", "neighbor_allgather",
               "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
               "neighbor_alltoallw"):
        assert re.search(rf"\b{op}\b", known), op
        text = sim("--op", op, "--ranks", "1,2,6,9", "--bytes", "0,24,4K", "--segment", "1K",
                   "--root", 0, "--quiet", "--csv", "-").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 12 and all(row["failed_ranks"] == "0" for row in rows), text
    offered = re.search(r"--op TEXT:\{([^}]*)\}", known).group(1).split(",")
    assert len(offered) == 22, offered


def test_blocks_of_a_root_and_of_neighbors():
    # A root's last block and what the last rank sends its neighbours are empty.
    assert sends_of("gather", "linear", 4) == [[], [1000], [1000], [1000]]
    assert sends_of("gatherv", "linear", 4) == [[], [1000], [1000], []]
    assert sends_of("scatter", "linear", 4) == [[1000] * 3, [], [], []]
    assert sends_of("scatterv", "linear", 4) == [[1000] * 2, [], [], []]
    assert sends_of("reduce_scatter_block", "spread", 4) == [[1000] * 3] * 4
    assert sends_of("alltoallw", "ring", 3) == sends_of("alltoallv", "ring", 3)
    for kind in ("allgather", "alltoall"):
        assert sends_of(f"neighbor_{kind}", "linear", 9) == [[1000] * 4] * 9
        assert sends_of(f"neighbor_{kind}v", "linear", 9) == [[1000] * 4] * 8 + [[]]


def test_gathers_have_limits():
    fails("1024 blocks of that size are more than 64 TiB", "--op", "allgather", "--bytes", "1T",
          "--ranks", 1024)
    # 32 GiB in the buffers of all ranks, and more between them, of which no byte is touched.
    sim("--op", "alltoall", "--algorithm", "bruck", "--bytes", "1M", "--ranks", 128, "--segment",
        "64M")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 256 << 10  # KiB


def rounds_of(p, radix=2):
    count = 0
    while radix**count < p:
        count += 1
    return count


def slots_with_digit(p, weight, digit, radix):
    return len([slot for slot in range(p) if slot // weight % radix == digit])


def test_gathers_take_what_their_forms_say():
    # flat.machine: 1 us, two overheads of 0.2 us, 0.125 ns per byte, of messages and of copies.
    size = 64 << 10
    copy = size / 8

    def message(blocks=1):
        return 1000 + 400 + blocks * copy

    def in_a_row(messages):  # of one sender, one after the other
        return message() + (messages - 1) * copy

    def bruck(p):
        blocks = [slots_with_digit(p, 2**k, 1, 2) for k in range(rounds_of(p))]
        return p * copy + sum(message(n) + 2 * n * copy for n in blocks)

    def direct(rounds):  # the own block is copied after the first send
        return in_a_row(rounds) + (200 if rounds > 1 else 0)

    forms = {
        ("allgather", "publish"): lambda p: copy + in_a_row(p - 1),
        ("allgather", "ring"): lambda p: copy + (p - 1) * message(),
        ("allgather", "bruck"): lambda p: copy + sum(
            message(min(2**k, p - 2**k)) for k in range(rounds_of(p))) + p * copy,
        ("allgather", "doubling"): lambda p: copy + sum(
            message(2**k) for k in range(rounds_of(p))),
        ("alltoall", "ring"): lambda p: direct(p - 1),
        # With an odd number of ranks one is idle in each of p rounds.
        ("alltoall", "one-factor"): lambda p: direct(p - 1 + p % 2),
        ("alltoall", "xor"): lambda p: direct(p - 1),
        ("alltoall", "bruck"): bruck,
        ("scan", "ring"): lambda p: copy + (p - 1) * (message() + 2 * copy),
        ("exscan", "ring"): lambda p: (p - 1) * (message() + 2 * copy) - copy,
    }
    for (op, algorithm), form in forms.items():
        sizes = (2, 4, 8, 16) if needs_power_of_two(op, algorithm) else (2, 4, 7, 8, 13, 16)
        text = sim("--machine", "flat", "--op", op, "--algorithm", algorithm, "--bytes", size,
                   "--segment", "1G", "--ranks", ",".join(map(str, sizes)), "--quiet", "--csv",
                   "-").stdout
        took = {int(row["ranks"]): int(row["makespan_ns"])
                for row in csv.DictReader(io.StringIO(text))}
        assert took == {p: form(p) for p in sizes}, (op, algorithm, took,
                                                     {p: form(p) for p in sizes})


def test_a_scan_is_a_pipeline():
    # The first segment takes p - 1 hops, the others follow at the pace of a rank: two overheads
    # and a combination of two operands.
    size = 64 << 10
    for p in (3, 5, 9):
        for segments in (2, 4, 8):
            copy = size / segments / 8
            first = copy + (p - 1) * (1400 + copy + 2 * copy)
            text = sim("--machine", "flat", "--op", "scan", "--algorithm", "ring", "--bytes", size,
                       "--segment", size // segments, "--ranks", p, "--quiet", "--csv", "-").stdout
            took = int(next(csv.DictReader(io.StringIO(text)))["makespan_ns"])
            form = first + (segments - 1) * (400 + 2 * copy)
            assert form <= took <= 1.02 * form, (p, segments, took, form)


def test_gathers_wait_for_as_many_messages_as_their_forms_say():
    forms = {("allgather", "publish"): lambda p: 1, ("allgather", "ring"): lambda p: p - 1,
             ("allgather", "bruck"): rounds_of, ("allgather", "doubling"): rounds_of,
             ("alltoall", "ring"): lambda p: 1, ("alltoall", "bruck"): rounds_of,
             ("scan", "ring"): lambda p: p - 1, ("scan", "doubling"): rounds_of,
             ("exscan", "ring"): lambda p: p - 1}
    for (op, algorithm), form in forms.items():
        # The last round of other sizes does not always need the one before.
        for p in (2, 8, 16) if form is rounds_of else (2, 5, 8, 13):
            text = sim("--machine", "flat", "--op", op, "--algorithm", algorithm, "--bytes", "4K",
                       "--segment", "1G", "--ranks", p, "--explain").stdout
            transfers = re.search(r"^critical path: (\d+) transfers", text, re.M).group(1)
            assert int(transfers) == form(p), (op, algorithm, p, text)


def sends_of(op, algorithm, p, radix=2):
    """By rank, the bytes of each message that it sends."""
    text = sim("--goal", "-", "--quiet", "--op", op, "--algorithm", algorithm, "--ranks", p,
               "--bytes", 1000, "--radix", radix).stdout
    blocks = re.findall(r"^rank \d+ \{\n(.*?)\}$", text, re.M | re.S)
    assert len(blocks) == p
    return [[int(size) for size in re.findall(r": send (\d+)b", block)] for block in blocks]


def test_gathers_send_what_their_forms_say():
    def digits(p, radix):
        return [(radix**k, d) for k in range(rounds_of(p, radix)) for d in range(1, radix)
                if d * radix**k < p]

    for p in (2, 3, 7, 8, 16):
        for algorithm in ("publish", "ring"):
            assert sends_of("allgather", algorithm, p) == [[1000] * (p - 1)] * p
            if p > 2:  # all but the empty block of the last rank
                sent = sends_of("allgatherv", algorithm, p)
                assert sum(map(len, sent)) == (p - 1) * (p - 1), sent
        for algorithm in ("ring", "one-factor"):
            assert sends_of("alltoall", algorithm, p) == [[1000] * (p - 1)] * p
            for rank, sent in enumerate(sends_of("alltoallv", algorithm, p)):
                own = (2 * rank) % p == 0  # the empty one is its own
                assert sent == [1000] * (p - 1 if own else p - 2), (p, rank, sent)
        for radix in (2, 3, 4):
            sent = sends_of("allgather", "bruck", p, radix)
            assert sent == [[1000 * min(w, p - d * w) for w, d in digits(p, radix)]] * p, sent
            assert sum(sent[0]) == 1000 * (p - 1)
            sent = sends_of("alltoall", "bruck", p, radix)
            assert sent == [[1000 * slots_with_digit(p, w, d, radix)
                             for w, d in digits(p, radix)]] * p, sent
        if p & (p - 1) == 0:
            sent = sends_of("allgather", "doubling", p)
            assert sent == [[1000 * 2**k for k in range(rounds_of(p))]] * p, sent
            assert sends_of("alltoall", "xor", p) == [[1000] * (p - 1)] * p
        for op in ("scan", "exscan"):
            assert sends_of(op, "ring", p) == [[1000]] * (p - 1) + [[]]
            assert sends_of(op, "doubling", p) == [[1000] * rounds_of(p - r) for r in range(p)]


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
