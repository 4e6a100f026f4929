"""Options of other launchers: read where they say what ours has or what happens anyway.

Usage: esp_run_usual_test.py TEST ESP_RUN BOOT_PROBE
"""

import os
import sys

import jobs
from jobs import Job

ESP_RUN, PROBE = sys.argv[2:4]
SHOW = ("sh", "-c", 'echo $PMIX_RANK "$A" "$B" $(pwd)')


def lines_of(*arguments, launcher=ESP_RUN, **popen):
    with Job(launcher, "--timeout", "50", *arguments, **popen) as job:
        return sorted(job.expect(0).out.splitlines())


def test_spellings():
    here = os.getcwd()
    for ranks in ("-n", "-np", "--np", "--ranks"):
        assert lines_of(ranks, "2", *SHOW) == [f"0   {here}", f"1   {here}"]
    for dashes in ("-", "--"):
        assert lines_of(dashes + "wd", "/", *SHOW) == ["0   /"]
        assert lines_of("-n2", dashes + "tag-output", "echo", "x") == ["[0] x", "[1] x"]
        assert lines_of("-n2", dashes + "prepend-rank", "echo", "x") == ["[0] x", "[1] x"]
        assert lines_of(dashes + "bind-to", "none", "echo", "x") == ["x"]
        assert lines_of(dashes + "oversubscribe", dashes + "allow-run-as-root", dashes + "genvall",
                        dashes + "envall", "-np", "2", "echo", dashes + "np") == [dashes + "np"] * 2
    with Job(ESP_RUN, "-bind-to=nothing", "true") as job:
        job.expect(125, err="--bind: 'nothing' is not one of")


def test_variables():
    here = os.getcwd()
    environment = {**os.environ, "A": "outer"}
    assert lines_of("-genv", "A", "all", "-genv", "B", "x=y z", *SHOW, ":", "-n", "2", "-env", "A",
                    "own", *SHOW, ":", "-x", "B=last", *SHOW, env=environment) == [
        f"0 all x=y z {here}", f"1 own x=y z {here}", f"2 own x=y z {here}", f"3 all last {here}"]
    with Job(ESP_RUN, "-genv", "PMIX_RANK", "1", "true") as job:
        job.expect(125, err="PMIX_RANK is among what")
    with Job(ESP_RUN, "true", ":", "-genv", "A", "1", "true") as job:
        job.expect(125, err="--genv is for the whole job")
    with Job(ESP_RUN, "-genv", "A") as job:
        job.expect(125, err="2 required values of --genv missing")


def test_what_is_refused():
    for bad in (["--mca", "btl", "self"], ["-mca", "btl", "self"], ["--hostfile", "f"],
                ["-host", "a"], ["-ppn", "2"], ["--map-by", "core"], ["---np", "2"]):
        with Job(ESP_RUN, "-n", "1", *bad, "true") as job:
            job.expect(125, err="unknown option '" + bad[0] + "'")


def test_links():
    for name in ("mpirun", "mpiexec"):
        os.symlink(ESP_RUN, name)
        assert lines_of("-np", "2", "echo", "x", launcher="./" + name) == ["x", "x"]


jobs.run(globals())
