"""Several programs in one job, and what is given to each.

Usage: esp_run_programs_test.py TEST ESP_RUN BOOT_PROBE
"""

import os
import sys

import jobs
from jobs import Job

ESP_RUN, PROBE = sys.argv[2:4]


def esp_run(*arguments, **popen):
    return Job(ESP_RUN, "--timeout", "50", *arguments, **popen)


def lines_of(*arguments, err="", **popen):
    with esp_run(*arguments, **popen) as job:
        return sorted(job.expect(0, err=err).out.splitlines())


def test_programs():
    show = ("sh", "-c", 'echo $PMIX_RANK "$0" "$@"')
    for nodes in ("1", "2", "4"):
        assert lines_of("-n", "1", "--nodes", nodes, *show, "a", "1 2", ":", "-n2", *show, "b", ":",
                        *show, "c", "--nodes", "-x") == [
            "0 a 1 2", "1 b", "2 b", "3 c --nodes -x"], nodes
    # Across nodes and ways to deal ranks out, every rank knows the same.
    for where, places in (([], (0, 1, 2, 3, 4)), (["--nodes", "2"], (0, 1, 0, 1, 2)),
                          (["--nodes", "2", "--map", "round"], (0, 0, 1, 1, 2))):
        told = "".join(f" {program} {place};" for program, place in zip((0, 0, 1, 1, 2), places))
        assert lines_of(*where, "-n", "2", PROBE, "program", ":", "-np", "2", PROBE, "program", ":",
                        PROBE, "program") == [f"program of {rank}:{told}" for rank in range(5)]
    # Whoever wants a ":" for the program puts "--" before it.
    assert lines_of("-n1", "--", "echo", "a", ":", "b") == ["a : b"]
    with esp_run("sleep", "50", ":", "sh", "-c", "exit 7") as job:
        job.expect(7, err="rank 1 on")


def test_environment_and_directory():
    show = ("sh", "-c", 'echo $PMIX_RANK "$A" "$B" $(pwd)')
    here = os.getcwd()
    environment = {**os.environ, "A": "outer", "B": "passed on"}
    assert lines_of("-x", "A=1", "-x", "A=x y=z", "--wdir", "/", *show, ":", "-n2", "-x", "B",
                    "-xA=", *show, ":", "--wdir=/usr", *show, env=environment) == [
        "0 x y=z passed on /", f"1  passed on {here}", f"2  passed on {here}",
        "3 outer passed on /usr"]
    # A program is found from where esp-run is, and executed from its own directory.
    os.mkdir("below")
    with open("below/program", "w") as file:
        file.write("#!/bin/sh\npwd\n")
    os.chmod("below/program", 0o755)
    assert lines_of("--wdir", "/", "below/program") == ["/"]
    assert lines_of("--wdir", "below", "--", "below/program") == [here + "/below"]
    with Job(ESP_RUN, "--wdir", "below", "./program") as job:
        job.expect(127, err="'./program' not found from here; there is one in below")
    assert lines_of("-x", "UNKNOWN_HERE", "true", err="there is no variable UNKNOWN_HERE") == []


def test_helpful_errors():
    for bad, why in ((["true", ":"], "which program? None was given after the last ':'"),
                     ([":", "true"], "which program? None was given before the first ':'"),
                     (["true", ":", "-n2", ":", "true"], "which program? None was given between"),
                     (["true", ":", "--tag", "true"], "--tag is for the whole job"),
                     (["true", ":", "--timeout=3", "true"], "--timeout is for the whole job"),
                     (["true", ":", "-n", "0", "true"], "--ranks: '0' is not a whole number"),
                     (["true", ":", "-wdir", "/", "true"], "is --wdir meant?"),
                     (["true", ":", "--wrong", "true"], "unknown option '--wrong'"),
                     (["-n4096", "true", ":", "true"], "4097 ranks are more than the 4096"),
                     (["--nodes", "3", "true", ":", "true"], "3 nodes need at least as many ranks"),
                     (["-x", "=1", "true"], "-x: '=1' begins without a name"),
                     (["-x", "PMIX_RANK=1", "true"], "-x: PMIX_RANK is among what"),
                     (["--wdir", "/no/such", "true"], "'/no/such': No such file or directory"),
                     (["--wdir", PROBE, "true"], "is not a directory")):
        with Job(ESP_RUN, *bad) as job:
            job.expect(125, err=why)
            assert job.err.count("esp-run: ") == 1 and "Try 'esp-run --help'" in job.err, job.err
    with Job(ESP_RUN, "true", ":", "no-such-program") as job:
        job.expect(127, err="program 'no-such-program' not found in PATH")


jobs.run(globals())
