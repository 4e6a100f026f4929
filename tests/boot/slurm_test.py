"""The same program under srun. Usage: slurm_test.py TEST ESP_RUN BOOT_PROBE

Starts a Slurm of its own on this machine: munged, slurmctld and three slurmd, in a temporary folder
and, where this user may make them, in network and process namespaces of their own: nothing is
reachable from outside, and everything ends with this script. No systemd, no cgroups, no files
elsewhere.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import time

import jobs
from jobs import Job, eventually, require_program, skip

ESP_RUN, PROBE = sys.argv[2:4]
NODES = 3
NAMESPACES = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
INSIDE = "BOOT_TEST_IN_NAMESPACES"

CONFIGURATION = """
ClusterName=boottest
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldPort={port}
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs=16
PartitionName=all Nodes=n[0-{last}] Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""


def bring_up_loopback():
    """Of a new network namespace. Slurm resolves names with AI_ADDRCONFIG, which finds nothing
    where the only address is 127.0.0.1; so lo gets a second one, which leads nowhere else."""
    SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton("10.255.255.1"))
        fcntl.ioctl(any_socket, SIOCSIFADDR, struct.pack("16s16s", b"lo:1", address))
        request = struct.pack("16sh14x", b"lo", 0)
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, request)
        flags = struct.unpack("16sh14x", answer)[1] | IFF_UP
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))


def enter_namespaces():
    """Runs this script again inside; returns only where that is not possible, or inside."""
    if os.environ.get(INSIDE) == "1":
        bring_up_loopback()
        return
    if subprocess.run(NAMESPACES + ["true"], capture_output=True).returncode != 0:
        return
    os.environ[INSIDE] = "1"
    os.execvp(NAMESPACES[0], NAMESPACES + [sys.executable] + sys.argv)


def free_ports(count):
    """Neighbouring ports nobody listens on just now."""
    for first in range(20000 + os.getpid() % 5000, 30000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    skip("no free ports")


class Slurm:
    """Started on entry, stopped on exit."""

    def __init__(self):
        self.munged = require_program("munged")
        self.slurmctld = require_program("slurmctld")
        self.slurmd = require_program("slurmd")
        self.srun = require_program("srun")
        self.daemons = []
        self.folder = os.getcwd()

    def start(self, *command):
        # One group per daemon: slurmd has children of its own.
        log = open(os.path.basename(command[0]) + ".log", "a")
        self.daemons.append(
            subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
        log.close()

    def write_configuration(self):
        for name in ["state", "munge"] + [f"{kind}.n{i}" for kind in ("spool", "tmp")
                                          for i in range(NODES)]:
            os.makedirs(name, mode=0o700)
        os.chmod("munge", 0o755)  # munged insists: others must reach its socket.
        with open("munge/key", "wb") as file:
            file.write(os.urandom(128))
        os.chmod("munge/key", 0o600)
        port = free_ports(NODES + 1)
        with open("slurm.conf", "w") as file:
            file.write(CONFIGURATION.format(
                host=socket.gethostname(), user=os.environ.get("USER") or "root" if os.getuid() else
                "root", folder=self.folder, port=port, first_port=port + 1, last_port=port + NODES,
                last=NODES - 1))
        os.environ["SLURM_CONF"] = os.path.join(self.folder, "slurm.conf")

    def __enter__(self):
        self.write_configuration()
        try:
            self.start(self.munged, "--foreground", "--force",
                       f"--socket={self.folder}/munge/socket",
                       f"--key-file={self.folder}/munge/key",
                       f"--log-file={self.folder}/munge/log", f"--pid-file={self.folder}/munge/pid",
                       f"--seed-file={self.folder}/munge/seed")
            eventually(lambda: os.path.exists("munge/socket"), "munged is up")
            self.start(self.slurmctld, "-D", "-f", "slurm.conf")
            for node in range(NODES):
                self.start(self.slurmd, "-D", "-N", f"n{node}", "-f", "slurm.conf")
            eventually(self.all_idle, "all nodes are idle", 40)
        except BaseException:
            self.show_logs()
            self.__exit__()
            raise
        return self

    def all_idle(self):
        for daemon in self.daemons:
            assert daemon.poll() is None, f"{daemon.args[0]} ended with {daemon.returncode}"
        sinfo = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %t"], capture_output=True, text=True)
        return sinfo.stdout.split() == sum([[f"n{i}", "idle"] for i in range(NODES)], [])

    def show_logs(self):
        for name in ("munged.log", "slurmctld.log", "slurmd.log", "munge/log"):
            print(f"---- {name}", *jobs.lines_in(name)[-30:], sep="\n")

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.terminate()
        limit = time.monotonic() + 5
        for daemon in self.daemons:
            try:
                daemon.wait(max(0.1, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def run(self, *arguments):
        return Job(self.srun, "--overlap", *arguments)


def test_slurm():
    with Slurm() as slurm:
        listed = subprocess.run([slurm.srun, "--mpi=list"], capture_output=True, text=True)
        if "pmix" not in listed.stdout + listed.stderr:
            skip("this Slurm has no PMIx plugin")
        for nodes, ranks in ((1, 1), (1, 4), (2, 4), (3, 12)):
            with slurm.run("--mpi=pmix", f"-N{nodes}", f"-n{ranks}", PROBE, "exchange",
                           "pmix (slurm)") as job:
                assert job.expect(0).out.count("ok ") == ranks, job.out
        with slurm.run("--mpi=pmix", "-N2", "-n4", PROBE, "twice") as job:
            assert job.expect(0).out.count("ok ") == 4, job.out
        with slurm.run("--mpi=pmix", "-N1", "-n2", PROBE, "child", PROBE) as job:
            assert job.expect(0).out.count("child") == 2, job.out
        with slurm.run("--mpi=pmix", "-N2", "-n4", PROBE, "abort", "1", "7") as job:
            job.finish()
            assert job.code == 7 and "for the test" in job.err, (job.code, job.err)
        with slurm.run("--mpi=none", "-N2", "-n4", PROBE, "exchange") as job:
            job.finish()
            assert job.code == 3 and "srun --mpi=pmix" in job.err, (job.code, job.err)
        with slurm.run("--mpi=pmi2", "-N1", "-n2", PROBE, "exchange") as job:
            job.finish()
            assert job.code == 3 and "srun --mpi=pmix" in job.err, (job.code, job.err)
        with slurm.run("--mpi=none", "-N1", "-n1", PROBE, "exchange", "singleton") as job:
            job.expect(0)
        with slurm.run("--mpi=none", "-N1", "-n1", ESP_RUN, "-n3", PROBE, "exchange",
                       "pmix (esp-run)") as job:
            assert job.expect(0).out.count("ok ") == 3, job.out


enter_namespaces()
jobs.run(globals())
