"""What concerns a whole job is said once, not once per rank.

Usage: esp_run_once_test.py TEST ESP_RUN BOOT_PROBE
"""

import os
import resource
import subprocess
import sys

import jobs
from jobs import Job

ESP_RUN, PROBE = sys.argv[2:4]


def esp_run(*arguments, **popen):
    return Job(ESP_RUN, "--timeout", "50", "-n4", "--nodes", "2", *arguments, **popen)


def expect_once(code, text, *arguments, **popen):
    """This line on stderr, and no other."""
    with esp_run(*arguments, **popen) as job:
        job.expect(code, err=text)
        assert len(job.err.splitlines()) == 1, job.err
        return job


def script(name, text):
    with open(name, "w") as file:
        file.write(text)
    os.chmod(name, 0o755)
    return f"./{name}"


def test_programs_that_do_not_start():
    orphan = script("orphan", "#!/no/such/interpreter\n")
    denied = script("denied", f"#!{script('interpreter', '')}\n")
    os.chmod("interpreter", 0o644)
    for flags in ([], ["--keep-going"], ["--tag"]):
        expect_once(127, "cannot execute ./orphan: No such file", *flags, orphan)
        expect_once(126, "cannot execute ./denied: Permission denied", *flags, denied)
    # Each program has its own sentence, and ranks that did begin are ended.
    with esp_run("--keep-going", orphan, ":", "-n2", denied, ":", "true") as job:
        job.expect(None)
    assert sorted(line.split(" cannot execute ")[1].split(":")[0]
                  for line in job.err.splitlines()) == ["./denied", "./orphan"], job.err
    with esp_run("sleep", "50", ":", "-n2", orphan) as job:
        job.expect(127, err="cannot execute")
        # Of two that cannot, whichever is heard of first.
        assert "rank 4 on" in job.err or "rank 5 on" in job.err, job.err
        assert job.seconds < 20


def test_an_environment_that_is_full():
    # esp-run itself just fits into what exec takes, and its ranks get some more variables.
    def small_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (2 << 20, 2 << 20))

    def padded(bytes_more):
        full = {f"PAD{i}": "x" * 110000 for i in range(4)}
        return {**os.environ, **full, "PAD": "x" * bytes_more}

    def fits(bytes_more):
        try:
            return subprocess.run([ESP_RUN, "--version"], env=padded(bytes_more),
                                  capture_output=True, preexec_fn=small_stack).returncode == 0
        except OSError:
            return False

    low, high = 0, 120000
    assert fits(low) and not fits(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    expect_once(126, "/true: Argument list too long (arguments and environment together)", "true",
                env=padded(low - 250), preexec_fn=small_stack)


def test_settings():
    def environment(**settings):
        return {**os.environ, **settings}

    unknown = "unknown environment variable ESPALIER_SHAP is ignored; the nearest known name is"
    assert expect_once(0, unknown, PROBE, "job",
                       env=environment(ESPALIER_SHAP="flat")).out.count("ok ") == 4
    expect_once(0, unknown, "-x", "ESPALIER_SHAP=a", PROBE, "job", ":", "-x", "ESPALIER_SHAP=b",
                PROBE, "job", ":", PROBE, "job")
    with esp_run("-x", "ESPALIER_SHAP=a", "-x", "ESPALIER_LOG_LEVEL=error", PROBE, "job") as job:
        assert job.expect(0).err == ""
    # What only the ranks have is for them to say, for those of a node in one voice.
    with esp_run("sh", "-c", f"ESPALIER_SHAP=$PMIX_RANK exec {PROBE} job") as job:
        assert job.expect(0, err=unknown).err.count("ESPALIER_SHAP is") == 2, job.err
    with esp_run("sh", "-c", f"export ESPALIER_SHAP$PMIX_RANK=1; exec {PROBE} job") as job:
        assert job.expect(0).err.count("variable ESPALIER_SHAP") == 4, job.err
    # A value that is not allowed starts nothing.
    touch = ("touch", "started")
    for why, arguments in (
            ('ESPALIER_SHAPE: "round" is not allowed', ["-x", "ESPALIER_SHAPE=round", *touch]),
            ('"soon" is not allowed', [*touch, ":", "-x", "ESPALIER_TIMEOUT=soon", "true"]),
            ('ESPALIER_WIRES: "udp" is no wire', ["-x", "ESPALIER_WIRES=shm,udp", *touch]),
            ('"node:tree" is not LEVEL:SHAPE', ["-x", "ESPALIER_LEVEL_SHAPES=node:tree", *touch]),
            ("ESPALIER_SWITCHES: node n1 is there twice",
             ["-x", "ESPALIER_SWITCHES=SwitchName=s Nodes=n[0-1],n1", *touch]),
            ("SHAPE=knomial needs a RADIX of 2 or more",
             ["-x", "ESPALIER_SHAPE=knomial", "-x", "ESPALIER_RADIX=1", *touch])):
        expect_once(125, why, *arguments)
        assert not os.path.exists("started")


jobs.run(globals())
