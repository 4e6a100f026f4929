#!/usr/bin/env python3
"""Writes the machine file of the machine it runs on, for the simulator (docs/simulation.md).

usage: calibrate.py [--out this.machine] [--build FOLDER | --from FILE...] [--cores N]

Measures with esp-bench: the floors (a cache line, copies, process_vm_readv, adding) and the
library's own 8-byte message between two ranks. --from takes their JSON instead of measuring.
One node is all that can be measured here; nothing is said about networks.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL, SEGMENT, LARGE = 8, 64 << 10, 1 << 20


class Missing(Exception):
    """A measurement that the machine file needs is not there."""


class Measurements:
    """Medians in microseconds, of floors by (name, bytes) and of operations by (op, bytes)."""

    def __init__(self):
        self._floors = {}
        self._operations = {}
        self.cpus = 0
        self.host = "unknown processor"

    def add(self, document):
        """The JSON of one esp-bench run."""
        host = document["host"]
        self.cpus = host["cpus"]
        self.host = f"{host['cpu_model']}, kernel {host['kernel']}"
        for floor in document.get("floors", []):
            if floor["samples"] > 0:
                self._floors[floor["name"], floor["bytes"]] = floor["median_us"]
        for row in document.get("rows", []):
            self._operations[row["op"], row["bytes"]] = row["median_us"]

    def floor(self, name, size=0):
        return self._get(self._floors, name, size)

    def operation(self, name, size):
        return self._get(self._operations, name, size)

    @staticmethod
    def _get(table, name, size):
        if (name, size) not in table:
            raise Missing(f"no measurement of {name!r} with {size} bytes")
        return table[name, size]


def rate(size, microseconds):
    """Bytes in microseconds as a bandwidth of a machine file."""
    return f"{size / microseconds * 1e-3:.4g} GB/s"


def cma_costs(m):
    """Call and page cost of process_vm_readv: (call_us, page_us)."""
    call = m.floor("readv", SMALL)
    copied = m.floor("copy-peer", LARGE)
    pages = LARGE / 4096
    return call, max(0.0, (m.floor("readv", LARGE) - call - copied) / pages)


def machine_text(m, cores=0):
    """The machine file, as text. `cores`: say that the node had so many; 0: what it has."""
    line = m.floor("line")
    message = m.operation("p2p-latency", SMALL)
    overhead = max(0.0, (message - line) / 2)
    segment = m.floor("copy-peer", SEGMENT)
    # Both cores at once; a bus that is slower than one copy alone would be a contradiction.
    bus = min(m.floor("copy-both", LARGE) / 2, segment * (LARGE / SEGMENT))
    call, page = cma_costs(m)
    return "\n".join([
        f"# Written by bench/experiments/calibrate.py on {m.host}.",
        f"title = This machine: {m.host}",
        "",
        "[level node]",
        "arity = 1  # measured: one machine",
        "carrier = copy  # assumed: segments are copied through shared memory",
        f"latency = {line * 1e3:.4g} ns  # measured: esp-bench floors, line: a cache line one way",
        f"overhead = {overhead * 1e3:.4g} ns  # measured: esp-bench p2p-latency of 8 bytes, "
        f"{message * 1e3:.4g} ns, less the line; half at either end",
        f"bandwidth = {rate(SEGMENT, segment)}  # measured: esp-bench floors, copy-peer of 64 KiB",
        "lane = memory  # assumed: all cores share the memory bus",
        "",
        "[level core]",
        f"arity = {cores or m.cpus}  # " + (
            f"measured: {m.cpus} processors online" if cores in (0, m.cpus) else
            f"assumed: as if it had so many; it has {m.cpus}"),
        "",
        "[lane memory]",
        "per = node  # assumed: one memory bus",
        f"bandwidth = {rate(LARGE, bus)}  # measured: esp-bench floors, copy-both of 1 MiB",
        "duplex = no  # assumed: reads and writes share the bus",
        "",
        "[cma]",
        f"call = {call * 1e3:.4g} ns  # measured: esp-bench floors, readv of 8 bytes",
        f"page = {page * 1e3:.4g} ns  # measured: esp-bench floors, readv of 1 MiB less call and "
        "copy, per page",
        f"reader = 0 ns  # assumed: {m.cpus} cores cannot tell a wait for a lock from a wait for "
        "a core",
        "",
        "[compute]",
        f"reduce = {rate(2 * LARGE, m.floor('add', LARGE))}  # measured: esp-bench floors, add of "
        "1 MiB: two operands",
        "",
    ])  # fmt: skip


def measure(build):
    """Runs esp-bench twice: floors, and a message between two ranks."""
    bin_folder = build / "bin"
    bench = bin_folder / "esp-bench"
    if not bench.exists():
        raise Missing(f"{bench} is not there: build it (./run build), or use --from")
    result = Measurements()
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "out.json"
        sizes = f"{SMALL},{SEGMENT},{LARGE}"
        ping = ["--op", "p2p-latency", "--bytes", str(SMALL)]
        for command in (
            [bench, "floors", "--bytes", sizes],
            [bin_folder / "esp-run", "-n", "2", bench, *ping],
        ):
            subprocess.run([*command, "--json", output], check=True, stdout=subprocess.DEVNULL)
            result.add(json.loads(output.read_text()))
    return result


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("this.machine"))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--from", dest="files", type=pathlib.Path, nargs="+", metavar="FILE")
    parser.add_argument("--cores", type=int, default=0, help="as if the machine had so many")
    return parser.parse_args()


def main():
    args = parse()
    try:
        if args.files:
            measurements = Measurements()
            for path in args.files:
                measurements.add(json.loads(path.read_text()))
        else:
            measurements = measure(args.build)
        args.out.write_text(machine_text(measurements, args.cores))
    except (Missing, OSError, json.JSONDecodeError, KeyError) as problem:
        sys.exit(f"calibrate.py: {type(problem).__name__}: {problem}")
    except subprocess.CalledProcessError as problem:
        sys.exit(f"calibrate.py: {problem}")
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
