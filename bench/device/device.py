#!/usr/bin/env python3
"""Calls on memory of one device beside plain copies of its driver and an MPI staged by hand, and
the reduction kernels beside copies on the device. Writes OUT/gpu.md, and OUT/gpu.json with what was
measured. What does not fit into the time is left out, and the page says so.

usage: device.py --build BUILD --out OUT [--smoke]
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent.resolve()
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "driver")]

import backends  # noqa: E402
import launch  # noqa: E402
import lanes  # noqa: E402
import page  # noqa: E402

MINUTES = 4.5
OPS = ["allreduce", "reduce", "bcast", "allgather"]
PAIRS = ["p2p-latency", "p2p-bandwidth"]
SIZES = [8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20]
RANKS = [2, 4, 8]
COMPILERS = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def arguments():
    parser = argparse.ArgumentParser(prog="bench/device.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="has bin/esp-bench")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="for gpu.md and gpu.json")
    parser.add_argument("--smoke", action="store_true", help="does it work? few calls")
    settings = parser.parse_args()
    for name in ("esp-bench", "esp-run"):
        if not (settings.build / "bin" / name).exists():
            parser.error(f"no bin/{name} in {settings.build}")
    settings.out.mkdir(parents=True, exist_ok=True)
    settings.sizes, settings.ranks = (SIZES, RANKS)
    if settings.smoke:
        settings.sizes, settings.ranks = [8, 16 << 10, 256 << 10], [2, 3]
    return settings


class Measurement:
    """All launches; `missing`: what was left out, and why."""

    def __init__(self, settings):
        self.settings = settings
        self.bin = settings.build.resolve() / "bin"
        self.smoke = ["--smoke"] if settings.smoke else []
        self.end = time.monotonic() + 60 * MINUTES
        self.missing = []

    def left_s(self):
        return self.end - time.monotonic()

    def step(self, what, share, function):
        """What `function` says of the seconds it may take, which are a share of those left; None
        where it failed."""
        limit_s = share * self.left_s()
        print(f"{what}: at most {limit_s:.0f} s", file=sys.stderr, flush=True)
        try:
            return function(limit_s)
        except launch.LaunchError as why:
            self.missing.append(f"{what}: {why}")
            return None

    def esp_bench(self, ranks, limit_s, *args):
        ours = backends.find_backends(self.bin, [backends.OURS], print)[0]
        # The device's driver has threads of its own; cores are told off where each rank has two.
        cores = (os.cpu_count() or 1) // 2
        own_s = max(1.0, 0.7 * limit_s - 5)  # rows that take longer than their budget end by then
        command = ours.command(ranks, cores, str(ours.program),
                               [*args, *self.smoke, "--limit-s", f"{own_s:.1f}"])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            try:
                launch.run([*command, "--quiet", "--json", path], limit_s)
            except launch.LaunchError as why:
                if not path.exists():
                    raise
                # Wrong results are among the rows, and it writes those that it has now and then.
                self.missing.append(f"{ranks} processes: {why}")
            return json.loads(path.read_text())

    def floors(self, limit_s):
        sizes = ",".join(map(str, self.settings.sizes))
        return launch.run_json([self.bin / "esp-bench", "floors", "--alloc", "device", "--bytes",
                                sizes, *self.smoke], limit_s)

    def calls(self, ranks, alloc, sizes):
        """Rows of all operations."""
        ops = OPS + (PAIRS if ranks == 2 else [])
        args = ["--op", ",".join(ops), "--bytes", ",".join(map(str, sizes)), "--alloc", alloc,
                "--budget-ms", "100"]
        return lambda limit_s: self.esp_bench(ranks, limit_s, *args)["rows"]

    def staged(self, program, mpi, ranks, limit_s):
        """{bytes: us} of an allreduce."""
        launcher = {"openmpi": "mpirun.openmpi", "mpich": "mpirun.mpich"}[mpi]
        start = [launcher, "-n", ranks]
        if mpi == "openmpi":
            start += ["--allow-run-as-root"] if os.geteuid() == 0 else []
            start += ["--bind-to", "none", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
            start += ["--mca", "btl_base_warn_component_unused", "0"]
        seconds = 0.01 if self.settings.smoke else min(0.2, limit_s / 30)
        sizes = ",".join(map(str, self.settings.sizes))
        _, output = launch.run([*start, program, seconds, sizes], limit_s)
        lines = [line.split() for line in output.splitlines()]
        return {int(words[0]): float(words[1]) for words in lines
                if len(words) == 2 and words[0].isdigit()}

    def compiled(self, folder):
        """(mpi, program) of the first MPI that is here, or None."""
        mpi = next((mpi for mpi, compiler in COMPILERS.items() if shutil.which(compiler)), None)
        if mpi is None:
            self.missing.append("An MPI staged by hand: neither Open MPI nor MPICH is here")
            return None
        program = pathlib.Path(folder) / "staged"
        launch.run([COMPILERS[mpi], "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-o", program,
                    HERE / "staged.c", "-ldl"], 60)
        return mpi, program

    def kernels(self, limit_s):
        """[(k, bytes, us)]; k 0: a copy."""
        program = self.bin / "esp-device-kernels"
        if not program.exists():
            raise launch.LaunchError("esp-device-kernels is not built")
        _, output = launch.run([program, *self.smoke], limit_s)
        lines = (line.split() for line in output.splitlines())
        return [(int(k), int(size), float(us)) for k, size, us in lines]

    def run(self):
        """All of it, as in gpu.json."""
        # The page is about one device, of several too.
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
        found = self.step("floors", 0.2, self.floors)
        if found is None:
            raise launch.LaunchError(self.missing[0])
        small = [size for size in self.settings.sizes if size <= lanes.MOST_SMALL]
        calls, on_host, staged = {}, {}, {}
        kernels = self.step("reduction kernels", 0.15, self.kernels)
        for i, ranks in enumerate(self.settings.ranks):
            share = 0.5 / (len(self.settings.ranks) - i)
            calls[ranks] = self.step(f"{ranks} processes", share,
                                     self.calls(ranks, "device", self.settings.sizes))
            on_host[ranks] = self.step(f"{ranks} processes, memory of the host", share / 2,
                                       self.calls(ranks, "malloc", small))
        mpi = None
        with tempfile.TemporaryDirectory() as folder:
            built = self.step("compiling for an MPI", 0.5, lambda _: self.compiled(folder))
            for ranks in self.settings.ranks if built else ():
                mpi, program = built
                staged[ranks] = self.step(
                    f"{NAMES[mpi]} staged by hand, {ranks} processes", 0.4,
                    lambda limit_s: self.staged(program, mpi, ranks, limit_s))  # noqa: B023
        return {"device": found["device"], "library": found["library"], "host": found["host"],
                "smoke": self.settings.smoke, "floors": found["floors"], "calls": calls,
                "on_host": on_host, "mpi": NAMES.get(mpi), "staged": staged,
                "kernels": kernels or [], "missing": self.missing}


def main():
    settings = arguments()
    launch.end_when_told()
    try:
        measured = Measurement(settings).run()
    except launch.LaunchError as why:
        print(f"device.py: {why}", file=sys.stderr)
        return 1
    (settings.out / "gpu.json").write_text(json.dumps(measured, indent=1) + "\n")
    (settings.out / "gpu.md").write_text(page.text(measured))
    print(settings.out / "gpu.md")
    wrong = [row for rows in measured["calls"].values() for row in rows or []
             if not row["correct"] and not row["refusal"]]
    for row in wrong:
        print(f"device.py: a result was wrong: {row['op']}, {row['bytes']} B", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
