"""The libraries of bench/messages, and how two ranks of each are started within a node and over
TCP.

Each rank is bound to a core of its own where there are two. Over TCP everybody is told to use the
loopback interface and nothing else: Espalier's ranks are on two emulated nodes, Open MPI has the
transport `tcp` alone, and MPICH, which is built on UCX, takes no two ranks for neighbours and UCX's
`tcp` alone.
"""

import dataclasses
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).parent
OURS = {"espalier": "Espalier", "espalier-mpi": "Espalier, mpi.h"}
PEERS = {"openmpi": "Open MPI", "mpich": "MPICH", "ucx": "UCX"}
FLOORS = {"socket": "socket", "socket-spin": "socket, spinning"}  # over TCP
NAMES = OURS | PEERS | FLOORS
PLACES = {"node": [*OURS, *PEERS], "tcp": [*OURS, *PEERS, *FLOORS]}
OPEN_MPI_TCP = ["--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include",
                "lo"]
UCX_TCP = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}


def two_cores(cpus=None, topology=pathlib.Path("/sys/devices/system/cpu")):
    """A CPU of each of the first two cores that we may use, or of as many as there are."""
    found = {}
    for cpu in sorted(os.sched_getaffinity(0)) if cpus is None else cpus:
        siblings = topology / f"cpu{cpu}" / "topology" / "thread_siblings_list"
        found.setdefault(siblings.read_text() if siblings.exists() else cpu, cpu)
    return list(found.values())[:2]


def ucx_flags():
    """What a compiler is told to link UCX; None: it is not here."""
    if shutil.which("pkg-config") is None:
        return None
    asked = subprocess.run(["pkg-config", "--cflags", "--libs", "ucx"], capture_output=True,
                           text=True, check=False)
    return asked.stdout.split() if asked.returncode == 0 else None


@dataclasses.dataclass(frozen=True)
class Programs:
    """What there is of each library, by its name."""
    build: pathlib.Path
    paths: dict

    def command(self, place, name):
        """A launch of two ranks, without the arguments of the program."""
        tcp, bound = place == "tcp", len(two_cores()) == 2
        if name in OURS:
            start = self._espalier(tcp, bound)
        elif name == "openmpi":
            start = open_mpi(tcp, bound)
        elif name == "mpich":
            start = mpich(tcp, bound)
        else:
            start = pair(name, tcp, bound)
        return [*start, self.paths[name]]

    def _espalier(self, tcp, bound):
        start = [self.build / "bin" / "esp-run", "--bind", "core" if bound else "none", "-n", "2"]
        if not tcp:
            return start
        return [*environment({"ESPALIER_WIRES": "tcp", "ESPALIER_TCP_INTERFACE": "lo"}), *start,
                "--nodes", "2"]


def environment(variables):
    return ["env", *(f"{name}={value}" for name, value in variables.items())]


def open_mpi(tcp, bound):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    crowded = ["--bind-to", "none", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    # Many messages about a missing network are not about us.
    return ["mpirun.openmpi", *root, "--mca", "btl_base_warn_component_unused", "0",
            *(["--bind-to", "core"] if bound else crowded), *(OPEN_MPI_TCP if tcp else []),
            "-n", "2"]  # fmt: skip


def mpich(tcp, bound):
    apart = environment(UCX_TCP | {"MPIR_CVAR_NOLOCAL": "1"}) if tcp else []
    return [*apart, "mpirun.mpich", *(["-bind-to", "core"] if bound else []), "-n", "2"]


def pair(name, tcp, bound):
    """Of two processes without a launcher."""
    variables = {"MESSAGES_CPUS": ",".join(map(str, two_cores()))} if bound else {}
    if name == "ucx" and tcp:
        variables |= UCX_TCP
    if name == "socket-spin":
        variables["MESSAGES_SPIN"] = "1"
    return environment(variables)


def compiled(compiler, folder, name, sources, flags=()):
    program = pathlib.Path(folder) / name
    # -w: the headers of others.
    subprocess.run([*compiler, "-std=gnu11", "-O2", "-w", "-o", program,
                    *(HERE / source for source in [*sources, "measure.c"]), *flags], check=True)
    return program


def build_programs(build, folder, wanted, say):
    """Compiles those of the wanted libraries that are here; says which are not."""
    paths = {"espalier": build / "bin" / "esp-messages"} if "espalier" in wanted else {}
    compilers = {"espalier-mpi": (build / "bin" / "esp-cc", build / "bin" / "esp-run"),
                 "openmpi": ("mpicc.openmpi", "mpirun.openmpi"),
                 "mpich": ("mpicc.mpich", "mpirun.mpich")}
    for name, commands in compilers.items():
        absent = [command for command in commands if shutil.which(command) is None]
        if name in wanted and absent:
            say(f"{NAMES[name]}: left out, there is no {absent[0]}")
        elif name in wanted:
            paths[name] = compiled([commands[0]], folder, f"mpi-{name}", ["mpi.c"])
    if "ucx" in wanted:
        flags = ucx_flags()
        if flags is None:
            say("UCX: left out, pkg-config knows no ucx (Debian: libucx-dev)")
        else:
            paths["ucx"] = compiled(["cc"], folder, "ucx", ["ucx.c", "pair.c"], flags)
    floors = [name for name in FLOORS if name in wanted]
    if floors:
        program = compiled(["cc"], folder, "socket", ["socket.c", "pair.c"])
        paths |= {name: program for name in floors}
    return Programs(build, paths)


def version(name):
    """Of another library, as a reader names it."""
    if name == "ucx":
        asked = ["pkg-config", "--modversion", "ucx"]
    else:
        package = {"openmpi": "openmpi-bin", "mpich": "mpich"}[name]
        asked = ["dpkg-query", "--show", "--showformat=${Version}", package]
    if shutil.which(asked[0]) is None:
        return NAMES[name]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return f"{NAMES[name]} {said.strip().split('-')[0]}".strip()
