"""The same program under other launchers. Usage: launchers_test.py TEST ESP_RUN BOOT_PROBE"""

import os
import sys

import jobs
from jobs import Job, require_program

ESP_RUN, PROBE = sys.argv[2:4]


def mpirun(ranks, *command, **popen):
    program = require_program("mpirun.openmpi")
    # It counts slots, refuses root, and would listen on every interface.
    options = ["--oversubscribe", "-mca", "oob_tcp_if_include", "lo"]
    if os.getuid() == 0:
        options.append("--allow-run-as-root")
    return Job(program, *options, "-n", ranks, *command, **popen)


def test_open_mpi():
    for ranks in (1, 2, 5, 16):
        with mpirun(ranks, PROBE, "exchange", "pmix (open mpi)") as job:
            assert job.expect(0).out.count("ok ") == ranks, job.out


def test_open_mpi_twice():
    with mpirun(3, PROBE, "twice") as job:
        assert job.expect(0).out.count("ok ") == 3, job.out


def test_open_mpi_child():
    with mpirun(2, PROBE, "child", PROBE) as job:
        assert job.expect(0).out.count("child") == 2, job.out


def test_open_mpi_failure():
    with mpirun(3, PROBE, "abort", "1", "7") as job:
        job.expect(7, err="for the test")
    with mpirun(3, PROBE, "exit", "1", "kill") as job:
        job.expect(137)


def test_esp_run_within_open_mpi():
    with mpirun(2, ESP_RUN, "-n", "2", PROBE, "exchange", "pmix (esp-run)") as job:
        assert job.expect(0).out.count("ok ") == 4, job.out


def test_open_mpi_warns_once():
    """Of a setting that the library does not know; who has another one says so itself."""
    unknown = "espalier warning: unknown environment variable ESPALIER_"
    environment = dict(os.environ, ESPALIER_SHAP="flat")
    with mpirun(4, PROBE, "job", env=environment) as job:
        assert job.expect(0, err=unknown).err.count("ESPALIER_SHAP is") == 1, job.err
    each = f"export ESPALIER_SHAP$OMPI_COMM_WORLD_RANK=1; exec {PROBE} job"
    with mpirun(4, "sh", "-c", each) as job:
        job.expect(0)
        for rank in range(4):
            assert job.err.count(f"ESPALIER_SHAP{rank} is") == 1, job.err
    # Who cannot join speaks for itself.
    stale = dict(environment, PMIX_NAMESPACE="gone", PMIX_RANK="1",
                 PMIX_SERVER_URI41="pmix-server.1;tcp4://127.0.0.1:1")
    with Job(PROBE, "job", env=stale) as job:
        job.expect(3, err=unknown)


def test_mpich_is_explained():
    program = require_program("mpiexec.mpich", "mpiexec.hydra")
    with Job(program, "-n", "2", PROBE, "exchange") as job:
        # Two ranks fail at once, and Hydra ends the other: whose code it takes varies.
        job.expect(None, err="esp-run -n 2")


def test_dead_launcher_is_explained():
    stale = dict(os.environ, PMIX_NAMESPACE="gone", PMIX_RANK="0",
                 PMIX_SERVER_URI41="pmix-server.1;tcp4://127.0.0.1:1")
    with Job(PROBE, "exchange", env=stale) as job:
        job.expect(3, err="does not answer")


jobs.run(globals())
