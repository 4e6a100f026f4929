"""The libraries that are compared, and how each is launched with its best documented settings.

Open MPI: bound to cores while every rank has one; with more ranks than cores unbound and yielding
when idle, as its FAQ asks for; once more with coll/adapt raised, which wins some large cases. MPICH
has no yielding setting. Espalier needs none: it is run as a user would run it.
"""

import dataclasses
import os
import pathlib
import shutil


@dataclasses.dataclass(frozen=True)
class Backend:
    name: str
    program: pathlib.Path  # its build of esp-bench
    launcher: str  # path, found
    flags_bound: tuple  # ranks <= cores
    flags_crowded: tuple  # ranks > cores
    only_crowded: bool = False  # a setting that changes nothing for two ranks

    def command(self, ranks: int, cores: int, program: str, args: list) -> list:
        flags = self.flags_bound if ranks <= cores else self.flags_crowded
        return [self.launcher, "-n", str(ranks), *flags, program, *args]


def _open_mpi(bin_dir: pathlib.Path):
    launcher = shutil.which("mpirun.openmpi")
    root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
    # Many messages about a missing network are not about us.
    common = root + ("--mca", "btl_base_warn_component_unused", "0")
    crowded = common + ("--bind-to", "none", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1")
    program = bin_dir / "esp-bench-openmpi"
    yield Backend("openmpi", program, launcher, common + ("--bind-to", "core"), crowded)
    yield Backend(
        "openmpi-adapt",
        program,
        launcher,
        common + ("--bind-to", "core", "--mca", "coll_adapt_priority", "100"),
        crowded + ("--mca", "coll_adapt_priority", "100"),
        only_crowded=True,
    )


def find_backends(bin_dir: pathlib.Path, wanted: list, say) -> list:
    """Those of `wanted` that are built and can be launched; says which are left out and why."""
    esp_run = bin_dir / "esp-run"
    candidates = [
        Backend(
            "espalier",
            bin_dir / "esp-bench",
            str(esp_run) if esp_run.exists() else None,
            ("--bind", "core"),
            ("--bind", "none"),
        ),
        *_open_mpi(bin_dir),
        Backend(
            "mpich",
            bin_dir / "esp-bench-mpich",
            shutil.which("mpirun.mpich"),
            ("-bind-to", "core"),
            (),
        ),
    ]
    return usable(candidates, wanted, say)


def usable(candidates: list, wanted: list, say) -> list:
    """Those of the wanted names whose program is built and whose launcher was found."""
    found = []
    for backend in candidates:
        if backend.name not in wanted:
            continue
        if not backend.program.exists():
            say(f"{backend.name}: left out, {backend.program.name} is not built")
        elif backend.launcher is None:
            say(f"{backend.name}: left out, its launcher is not installed")
        else:
            found.append(backend)
    return found


ALL = ["espalier", "openmpi", "openmpi-adapt", "mpich"]
OURS = "espalier"
