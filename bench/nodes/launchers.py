"""How each library is started on the nodes, with the settings that suit it there.

Espalier is started by Open MPI's mpirun: a launcher that speaks PMIx, with a daemon on every node,
as on a cluster. It takes nothing from Open MPI but the start. Cores are not divided between the
nodes, so nobody binds. Where ranks outnumber cores Open MPI yields when idle, as its FAQ asks for;
MPICH has no such setting. UCX (under MPICH) would find out that the nodes are one machine, and go
past the network: it is told to use TCP, and not on loopback. Inside a node both have their shared
memory.
"""

import dataclasses
import pathlib
import shutil

import backends
from network import PREFIX, Nodes

OURS = "espalier"
ALL = [OURS, "openmpi", "openmpi-han", "mpich"]


@dataclasses.dataclass(frozen=True)
class Layout:
    nodes: int
    per_node: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    def __str__(self) -> str:
        return f"{self.nodes} nodes x {self.per_node}"


@dataclasses.dataclass(frozen=True)
class Library:
    name: str
    program: pathlib.Path  # its build of esp-bench
    launcher: str

    def suits(self, layout: Layout) -> bool:
        # With one rank per node coll/han leaves the work to the others.
        return self.name != "openmpi-han" or layout.per_node > 1

    def command(self, nodes: Nodes, layout: Layout, cores: int, program: str, args: list) -> list:
        start = self._hydra if self.name == "mpich" else self._mpirun
        return nodes.inside(1, [*start(nodes, layout, cores), program, *args])

    def _mpirun(self, nodes: Nodes, layout: Layout, cores: int) -> list:
        hosts = nodes.addresses()[: layout.nodes]
        settings = {
            "plm": "rsh",
            "plm_rsh_agent": nodes.agent,
            "plm_rsh_no_tree_spawn": 1,
            "oob_tcp_if_include": PREFIX,
            "btl": "tcp,vader,self",
            "btl_tcp_if_include": PREFIX,
            "btl_base_warn_component_unused": 0,
        }
        if layout.ranks > cores:
            settings["mpi_yield_when_idle"] = 1
        if self.name == "openmpi-han":
            settings["coll_han_priority"] = 100
        command = [self.launcher, "--allow-run-as-root", "--bind-to", "none"]
        for name, value in settings.items():
            command += ["--mca", name, value]
        slots = ",".join(f"{host}:{layout.per_node}" for host in hosts)
        return [*command, "--host", slots, "-n", layout.ranks]

    def _hydra(self, nodes: Nodes, layout: Layout, _: int) -> list:
        return [
            self.launcher, "-launcher", "ssh", "-launcher-exec", nodes.agent,
            "-hosts", ",".join(nodes.addresses()[: layout.nodes]),
            "-localhost", nodes.address(1), "-iface", "eth0",
            "-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", "eth0",
            "-n", layout.ranks, "-ppn", layout.per_node,
        ]  # fmt: skip


def find_libraries(bin_dir: pathlib.Path, wanted: list, say) -> list:
    """Those of `wanted` that are built and can be launched; says which are left out and why."""
    mpirun, hydra = shutil.which("mpirun.openmpi"), shutil.which("mpirun.mpich")
    candidates = [
        Library(OURS, bin_dir / "esp-bench", mpirun),
        Library("openmpi", bin_dir / "esp-bench-openmpi", mpirun),
        Library("openmpi-han", bin_dir / "esp-bench-openmpi", mpirun),
        Library("mpich", bin_dir / "esp-bench-mpich", hydra),
    ]
    return backends.usable(candidates, wanted, say)
