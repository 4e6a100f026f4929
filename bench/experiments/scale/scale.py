#!/usr/bin/env python3
"""How large a simulated job can be on this machine: docs/results/scale.md.

usage: scale.py [--build FOLDER] [--large] [--out FILE]

A broadcast of 4 MiB in 64 segments to 65,536 ranks, as a chain and as a binomial tree: processor
time, wall time, events per second, memory. With --large to 1,048,576 ranks, too (minutes, and up to
16 GiB). The aims: 60 s; 15 minutes and 16 GiB; on 2 cores.
"""

import argparse
import os
import pathlib
import re
import subprocess
import time

ROOT = (pathlib.Path(__file__).parent / ".." / ".." / "..").resolve()
BYTES, SEGMENTS = 4 << 20, 64
EVENTS = re.compile(r"(\d+) events, .* (\d+) bytes/rank")
VIRTUAL = re.compile(r": ([0-9.]+) ms of virtual time")


def simulate(program, ranks, shape):
    """One row: what it took."""
    begin, before = time.monotonic(), os.times()
    text = subprocess.run([program, str(ranks), str(BYTES), str(SEGMENTS), shape], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    wall, after = time.monotonic() - begin, os.times()
    cpu = (after.children_user - before.children_user) + (
        after.children_system - before.children_system)
    events, memory = map(int, EVENTS.search(text).groups())
    return (f"| {ranks:,} | {shape} | {float(VIRTUAL.search(text).group(1)):.1f} ms | {events:,} | "
            f"{cpu:.1f} s | {wall:.1f} s | {events / cpu / 1e6:.2f} M | {memory:,} | "
            f"{memory * ranks / 2**30:.2f} GiB |")


def host():
    cpus = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"(?m)^model name\s*: (.*)$", cpus)
    return f"{os.cpu_count()} cores ({model.group(1) if model else 'unknown'})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--large", action="store_true", help="1,048,576 ranks, too")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/results/scale.md")
    options = parser.parse_args()
    jobs = [(65536, "chain"), (65536, "binomial")]
    if options.large:
        jobs += [(1048576, "chain"), (1048576, "binomial")]
    lines = ["# How large a simulated job can be", "",
             "Made by `bench/experiments/scale/scale.py` on " + host() + ", one thread. A "
             f"broadcast of {BYTES >> 20} MiB in {SEGMENTS} segments on nodes of 32 cores "
             "(`tests/sim/scale.cpp`). Virtual time is simulated; the rest is measured: processor "
             "time of the simulator, wall time (longer where other work shares the cores), events "
             "per second of processor time, and peak memory.", "",
             "| ranks | tree | virtual time | events | processor | wall | events/s | bytes/rank | "
             "memory |", "|" + "---|" * 9]
    print("\n".join(lines), flush=True)
    for ranks, shape in jobs:
        lines.append(simulate(options.build / "bin" / "sim_scale", ranks, shape))
        print(lines[-1], flush=True)
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
