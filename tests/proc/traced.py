"""ESPALIER_TRACE=FILE of a program that knows nothing of it. Usage: traced.py CASE ESP_RUN PROBE"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "boot"))
import jobs  # noqa: E402
from jobs import Job  # noqa: E402

CASE, ESP_RUN, PROBE = sys.argv[1:4]


def traced(file, *command):
    return Job(*command, env=dict(os.environ, ESPALIER_TRACE=file))


def events_of(file):
    """{rank: names of its events}"""
    found = {}
    for event in json.load(open(file))["traceEvents"]:
        found.setdefault(event["pid"], []).append(event["name"])
    return found


def check(file, ranks):
    events = events_of(file)
    assert sorted(events) == ranks, sorted(events)
    for names in events.values():
        assert "allreduce" in names and "barrier" in names, names
        assert names.count("bcast") == 1, names
    left = [name for name in os.listdir() if name.startswith(f"{file}.")]
    assert not left, left


def test_joined(nodes=1):
    with traced("it.json", ESP_RUN, "-n", 3, "--nodes", nodes, PROBE) as job:
        job.expect(0, err="the trace of 3 ranks is in ")
    check("it.json", [0, 1, 2])
    # Again, over the old one.
    with traced("it.json", ESP_RUN, "-n", 2, PROBE) as job:
        job.expect(0)
    check("it.json", [0, 1])


def test_joined_of_nodes():
    test_joined(3)


def test_of_an_option():
    """With -x, for the programs that it is given for."""
    with Job(ESP_RUN, "-n", 2, "-x", "ESPALIER_TRACE=it.json", PROBE) as job:
        job.expect(0, err="the trace of 2 ranks is in ")
    check("it.json", [0, 1])
    with traced("all.json", ESP_RUN, "-n", 1, PROBE, ":", "-n", 1, "-x", "ESPALIER_TRACE=off",
                PROBE, ":", "-n", 2, "-x", "ESPALIER_TRACE=two.json", PROBE) as job:
        job.expect(0, err="the trace of 2 ranks is in ")
    check("all.json", [0])
    check("two.json", [2, 3])
    with Job(ESP_RUN, "-n", 1, "-x", "ESPALIER_TRACE=nowhere/it.json", PROBE) as job:
        job.expect(125, err="ESPALIER_TRACE: cannot write ")


def test_from_another_folder():
    os.mkdir("there")
    with traced("it.json", ESP_RUN, "-n", 2, "sh", "-c", f"cd there; exec {PROBE}") as job:
        job.expect(0)
    check("it.json", [0, 1])


def test_of_a_rank_that_ends_early():
    with traced("it.json", ESP_RUN, "-n", 3, "--keep-going", PROBE, "1") as job:
        job.expect(3, err="without rank 1")
    check("it.json", [0, 2])


def test_alone():
    """Without the launcher the rank's file stays."""
    with traced("it.json", PROBE) as job:
        job.expect(0)
    assert "bcast" in events_of("it.json.0")[0], events_of("it.json.0")
    assert not os.path.exists("it.json")


def test_of_no_rank():
    with open("it.json.1", "w") as file:
        file.write("somebody's")
    with traced("it.json", ESP_RUN, "-n", 2, "true") as job:
        job.expect(0, err="no rank has left a trace")
    assert os.listdir() == ["it.json.1"], os.listdir()
    # A file that was there before is only replaced by a trace.
    os.rename("it.json.1", "it.json")
    with traced("it.json", ESP_RUN, "-n", 2, "true") as job:
        job.expect(0, err="no rank has left a trace")
    assert open("it.json").read() == "somebody's" and len(os.listdir()) == 1, os.listdir()


def test_bad_path():
    for command, code in (([ESP_RUN, "-n", 4, "--nodes", 2, PROBE], 125), ([PROBE], None)):
        with traced("nowhere/it.json", *command) as job:
            job.expect(code, err="ESPALIER_TRACE: cannot write ")
            assert job.err.count("ESPALIER_TRACE") == 1, job.err
            assert "No such file or directory" in job.err, job.err


def test_switches():
    """What was allowed before is no file."""
    for value in ("1", "on", "0", "off"):
        with traced(value, ESP_RUN, "-n", 2, PROBE) as job:
            job.expect(0)
            assert not os.listdir() and "trace" not in job.err, (os.listdir(), job.err)


jobs.run(globals())
